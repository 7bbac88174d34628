//! The open documents, and the two threads that judge them: the first thread reports the results that need no search,
//! and the second thread searches.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::Duration,
};

use lsp_server::{Message, Notification};
use lsp_types::{
    PublishDiagnosticsParams, Uri,
    notification::{Notification as _, PublishDiagnostics},
};

use super::document::{Document, FixableDiagnostic, How};
use crate::cli::LspArgs;

/// The search recurses for deep conditions and many threads of a test.
const STACK: usize = 64 << 20;

/// Sends messages to the editor.
type Outbox = dyn Fn(Message) + Send + Sync;

/// The newest version of each document, by its URI.
#[derive(Clone, Default)]
struct Open(Arc<Mutex<HashMap<String, Arc<Document>>>>);

/// The open documents and the threads that judge them.
pub struct Desk {
    open: Open,
    outbox: Arc<Outbox>,
    /// `None` if no thread could be started.
    work: Option<Sender<Arc<Document>>>,
}

impl Desk {
    pub fn new(args: &LspArgs, outbox: Arc<Outbox>) -> Self {
        let open = Open::default();
        let start = |time: Option<Duration>, next: Option<Sender<Arc<Document>>>| {
            let (work, documents) = channel();
            let how = How { readings: args.readings.clone(), time };
            let worker = Worker { how, open: open.clone(), outbox: Arc::downgrade(&outbox), next };
            let thread = thread::Builder::new().stack_size(STACK).spawn(move || worker.run(&documents));
            thread.ok().map(|_| work)
        };
        let searches = (args.time_limit > 0).then(|| start(Some(Duration::from_secs(args.time_limit)), None)).flatten();
        let work = start(None, searches);
        Self { open, outbox, work }
    }

    /// Adds a new version of a document.
    pub fn put(&self, document: Document) {
        let document = Arc::new(document);
        let old = self.open.all().insert(document.uri.to_string(), document.clone());
        old.iter().for_each(|old| old.outdate());
        self.work.iter().for_each(|work| drop(work.send(document.clone())));
    }

    pub fn get(&self, uri: &Uri) -> Option<Arc<Document>> {
        self.open.all().get(uri.as_str()).cloned()
    }

    /// Removes a document, with its diagnostics.
    pub fn close(&self, uri: Uri) {
        let mut all = self.open.all();
        if let Some(old) = all.remove(uri.as_str()) {
            old.outdate();
            (self.outbox)(published(uri, None, &[]));
        }
    }
}

impl Open {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Arc<Document>>> {
        // No code panics in the middle of a change of the map.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread's loop that judges documents, one after another, and passes them to the next thread.
struct Worker {
    how: How,
    open: Open,
    /// The outbox, which ends with the server.
    outbox: Weak<Outbox>,
    next: Option<Sender<Arc<Document>>>,
}

impl Worker {
    fn run(&self, documents: &Receiver<Arc<Document>>) {
        for document in documents.iter().filter(|document| !document.is_outdated()) {
            // A panic in the checks loses the diagnostics of a document, but does not stop the server.
            let judged = catch_unwind(AssertUnwindSafe(|| (document.language.judge)(&document, &self.how)));
            judged.into_iter().for_each(|said| self.say(&document, said));
            self.next.iter().for_each(|next| drop(next.send(document.clone())));
        }
    }

    /// Sends the diagnostics of a version, unless a newer version exists.
    fn say(&self, document: &Arc<Document>, said: Vec<FixableDiagnostic>) {
        let _all = self.open.all();
        if let Some(outbox) = self.outbox.upgrade().filter(|_| !document.is_outdated()) {
            outbox(published(document.uri.clone(), Some(document.version), &said));
            *document.last_diagnostics() = said;
        }
    }
}

fn published(uri: Uri, version: Option<i32>, said: &[FixableDiagnostic]) -> Message {
    let diagnostics = said.iter().map(|said| said.diagnostic.clone()).collect();
    let params = PublishDiagnosticsParams { uri, diagnostics, version };
    Notification::new(PublishDiagnostics::METHOD.to_owned(), params).into()
}

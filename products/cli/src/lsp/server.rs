//! The messages of an editor, and their answers.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use itertools::Itertools;
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, Response};
use lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, CodeActionProviderCapability,
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams, Hover, HoverContents,
    HoverParams, HoverProviderCapability, InitializeResult, MarkupContent, MarkupKind, Range, ServerCapabilities,
    ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind, Uri, WorkspaceEdit,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use super::{
    desk::Desk,
    document::{Document, Language},
    hover, litmus, ptx,
};
use crate::cli::LspArgs;

static LANGUAGES: [Language; 2] = [
    Language { name: "ptx", judge: ptx::judge, hover: hover::hover },
    Language { name: "litmus", judge: litmus::judge, hover: |_, _| None },
];

/// Handles a notification; parameters of another type are an error.
type Noted = fn(&Desk, Value) -> serde_json::Result<()>;
/// Answers a request.
type Answered = fn(&Desk, Value) -> serde_json::Result<Value>;

const NOTIFICATIONS: [(&str, Noted); 3] = [
    ("textDocument/didOpen", |desk, params| take(params, |params| open(desk, params))),
    ("textDocument/didChange", |desk, params| take(params, |params| change(desk, params))),
    ("textDocument/didClose", |desk, params| {
        take(params, |params: DidCloseTextDocumentParams| desk.close(params.text_document.uri))
    }),
];

const REQUESTS: [(&str, Answered); 2] = [
    ("textDocument/hover", |desk, params| answer(params, |params| hovered(desk, &params))),
    ("textDocument/codeAction", |desk, params| answer(params, |params| actions(desk, &params))),
];

/// Serves until the editor ends the server. Returns whether the editor did so in the order of the protocol.
pub fn serve(args: &LspArgs, connection: &Connection) -> Result<bool, String> {
    let (id, _) = connection.initialize_start().map_err(|error| error.to_string())?;
    let version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let server_info = Some(ServerInfo { name: "ptx-atomics".to_owned(), version });
    let result = InitializeResult { capabilities: capabilities(), server_info };
    let result = serde_json::to_value(result).map_err(|error| error.to_string())?;
    connection.initialize_finish(id, result).map_err(|error| error.to_string())?;
    let sender = connection.sender.clone();
    // If the editor has gone, the message is dropped.
    let outbox = move |message| drop(sender.send(message));
    let desk = Desk::new(args, Arc::new(outbox));
    for message in &connection.receiver {
        match message {
            Message::Request(request) => {
                if connection.handle_shutdown(&request).map_err(|error| error.to_string())? {
                    return Ok(true);
                }
                if connection.sender.send(respond(&desk, request).into()).is_err() {
                    break;
                }
            }
            Message::Notification(Notification { method, .. }) if method == "exit" => break,
            Message::Notification(notification) => note(&desk, notification),
            Message::Response(_) => {}
        }
    }
    Ok(false)
}

fn capabilities() -> ServerCapabilities {
    ServerCapabilities {
        text_document_sync: Some(TextDocumentSyncCapability::Kind(TextDocumentSyncKind::FULL)),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_action_provider: Some(CodeActionProviderCapability::Simple(true)),
        ..ServerCapabilities::default()
    }
}

fn note(desk: &Desk, Notification { method, params }: Notification) {
    if let Some((_, noted)) = NOTIFICATIONS.iter().find(|(name, _)| *name == method) {
        // A notification has no answer, not even for an error.
        let _ = catch_unwind(AssertUnwindSafe(|| noted(desk, params)));
    }
}

fn respond(desk: &Desk, Request { id, method, params }: Request) -> Response {
    let error = |code: ErrorCode, message: String| Response::new_err(id.clone(), code as i32, message);
    let Some((_, answered)) = REQUESTS.iter().find(|(name, _)| *name == method) else {
        return error(ErrorCode::MethodNotFound, format!("the server has no method '{method}'"));
    };
    match catch_unwind(AssertUnwindSafe(|| answered(desk, params))) {
        Ok(Ok(result)) => Response::new_ok(id.clone(), result),
        Ok(Err(wrong)) => error(ErrorCode::InvalidParams, wrong.to_string()),
        Err(_) => error(ErrorCode::InternalError, format!("'{method}' has failed")),
    }
}

fn take<P: DeserializeOwned>(params: Value, act: impl FnOnce(P)) -> serde_json::Result<()> {
    serde_json::from_value(params).map(act)
}

fn answer<P: DeserializeOwned, R: Serialize>(params: Value, of: impl FnOnce(P) -> R) -> serde_json::Result<Value> {
    serde_json::to_value(of(serde_json::from_value(params)?))
}

/// Opens a document whose language the editor names, or whose name has a known extension.
fn open(desk: &Desk, DidOpenTextDocumentParams { text_document }: DidOpenTextDocumentParams) {
    let (_, ending) = text_document.uri.as_str().rsplit_once('.').unwrap_or_default();
    let of = |name: &str| LANGUAGES.iter().find(|language| language.name == name);
    if let Some(language) = of(&text_document.language_id).or_else(|| of(ending)) {
        desk.put(Document::new(text_document.uri, text_document.version, language, text_document.text));
    }
}

fn change(desk: &Desk, DidChangeTextDocumentParams { text_document, content_changes }: DidChangeTextDocumentParams) {
    // Each change has the whole text.
    if let (Some(old), Some(last)) = (desk.get(&text_document.uri), content_changes.into_iter().next_back()) {
        desk.put(Document::new(text_document.uri, text_document.version, old.language, last.text));
    }
}

fn hovered(desk: &Desk, params: &HoverParams) -> Option<Hover> {
    let place = &params.text_document_position_params;
    let document = desk.get(&place.text_document.uri)?;
    let offset = document.text.offset(place.position);
    let (span, value) = (document.language.hover)(document.text.as_str(), offset)?;
    let contents = HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value });
    Some(Hover { contents, range: Some(document.text.range(span)) })
}

/// The fixes of diagnostics in a range.
fn actions(desk: &Desk, CodeActionParams { text_document, range, .. }: &CodeActionParams) -> Vec<CodeActionOrCommand> {
    let Some(document) = desk.get(&text_document.uri) else { return Vec::new() };
    let meets = |other: Range| other.start.line <= range.end.line && range.start.line <= other.end.line;
    let said = document.last_diagnostics();
    let fixes = said.iter().filter(|said| meets(said.diagnostic.range));
    let fixes = fixes.filter_map(|said| Some((said, said.fix.clone()?))).unique_by(|(_, fix)| fix.title.clone());
    let actions = fixes.map(|(said, fix)| {
        CodeActionOrCommand::CodeAction(CodeAction {
            title: fix.title,
            kind: Some(CodeActionKind::QUICKFIX),
            diagnostics: Some(vec![said.diagnostic.clone()]),
            edit: Some(WorkspaceEdit { changes: Some(changes(&document.uri, fix.edits)), ..Default::default() }),
            is_preferred: Some(true),
            ..CodeAction::default()
        })
    });
    actions.collect()
}

#[allow(clippy::mutable_key_type)] // The map has the type of the protocol.
fn changes(uri: &Uri, edits: Vec<lsp_types::TextEdit>) -> HashMap<Uri, Vec<lsp_types::TextEdit>> {
    HashMap::from([(uri.clone(), edits)])
}

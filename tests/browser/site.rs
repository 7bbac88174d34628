//! A server of the book, optionally without a file, and a browser that opens its pages.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use url::{ParseError, Url};

use super::*;

/// The sources from which a page may load: only its own site. Any other load is an error in the console.
const POLICY: &str = "default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data: blob:";

/// A script that records the errors of a page, from its first line on.
const WATCH: &str = "<head><script>window.wrong = []; const keep = (what) => window.wrong.push(String(what)); \
    addEventListener('error', (event) => keep(event.message ?? `cannot load ${event.target.src ?? event.target.href}`), true); \
    addEventListener('unhandledrejection', (event) => keep(event.reason)); \
    addEventListener('securitypolicyviolation', (event) => keep(`${event.violatedDirective}: ${event.blockedURI}`)); \
    console.error = (...all) => keep(all.join(' '));</script>";

/// A server of the book, which runs until the tests end.
pub struct Site {
    pub port: u16,
    /// The number of requests for the file that this site omits.
    pub asked: Arc<AtomicUsize>,
}

/// Serves the book, without the file `without`.
pub fn serve(without: Option<&'static str>) -> Result<Site, Failed> {
    let folder = book()?;
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let site = Site { port: listener.local_addr()?.port(), asked: Arc::default() };
    let asked = Arc::clone(&site.asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = Arc::clone(&asked);
            thread::spawn(move || answer(&stream, folder, without, &asked));
        }
    });
    Ok(site)
}

fn answer(stream: &TcpStream, folder: &Path, without: Option<&str>, asked: &AtomicUsize) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next()?.ok()?;
    let path = request.split(' ').nth(1)?.split(['?', '#']).next()?.trim_start_matches('/').to_owned();
    let mut file = folder.join(&path);
    if without.is_some_and(|without| file.ends_with(without)) {
        asked.fetch_add(1, Ordering::Relaxed);
        file = PathBuf::new();
    }
    let kind = match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let (status, body) = match fs::read(&file) {
        Ok(body) if kind == "text/html" => {
            ("200 OK", String::from_utf8(body).ok()?.replacen("<head>", WATCH, 1).into())
        }
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let length = body.len();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nContent-Security-Policy: {POLICY}\r\nConnection: close\r\n\r\n"
    )
    .ok()?;
    stream.write_all(&body).ok()
}

/// The driver process of a browser, which ends when the value is dropped.
struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    /// Starts the driver. It chooses a port that is free for IPv4 and ends if the port is taken for IPv6; then it is
    /// started again.
    fn start() -> Result<Self, Failed> {
        let mut said = String::new();
        for _ in 0..5 {
            match Self::try_start()? {
                Ok(driver) => return Ok(driver),
                Err(lines) => said = lines,
            }
        }
        Err(format!("the driver reports no port, five times; last: {said}").into())
    }

    /// The driver, or its output if it ended.
    fn try_start() -> Result<Result<Self, String>, Failed> {
        let mut process = Command::new(DRIVER)
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut lines = BufReader::new(process.stdout.take().ok_or("no standard output")?).lines();
        let mut said = String::new();
        let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said += &format!("{line}\n");
            line.contains("started successfully")
                .then(|| line.trim_end_matches('.').rsplit(' ').next()?.parse().ok())?
        });
        let Some(port) = port else {
            process.kill()?;
            process.wait()?;
            return Ok(Err(said));
        };
        // A reader must consume the later output.
        thread::spawn(move || lines.for_each(drop));
        Ok(Ok(Self { process, port }))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Opens a page of the book, waits until it is ready, and runs a test there.
pub fn run(page: &str, name: &str, test: impl AsyncFnOnce(&Client) -> Result<(), Failed>) -> Result<(), Failed> {
    browse(&serve(None)?, page, name, async |client| {
        ready(client).await?;
        test(client).await?;
        quiet(client).await
    })
}

/// Opens a page of a site, and runs a test there.
pub fn browse(
    site: &Site,
    page: &str,
    name: &str,
    test: impl AsyncFnOnce(&Client) -> Result<(), Failed>,
) -> Result<(), Failed> {
    let driver = Driver::start()?;
    let profile = tempfile::tempdir()?;
    let folder = format!("--user-data-dir={}", profile.path().display());
    let arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &folder];
    let options = json!({ "args": arguments });
    let capabilities: Capabilities = [("goog:chromeOptions".to_owned(), options)].into_iter().collect();
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let mut builder = ClientBuilder::new(HttpConnector::new());
        let client = builder.capabilities(capabilities).connect(&format!("http://localhost:{}", driver.port)).await?;
        let outcome = async {
            client.goto(&format!("http://localhost:{}/docs/{page}.html", site.port)).await?;
            test(&client).await
        }
        .await;
        if let Some(folder) = env::var_os("BROWSER_SHOTS") {
            let words = format!("{page}-{name}").replace(|letter: char| !letter.is_alphanumeric(), "-");
            fs::create_dir_all(&folder)?;
            fs::write(Path::new(&folder).join(format!("{words}.png")), client.screenshot().await?)?;
        }
        client.close().await?;
        outcome
    })
}

/// A command of the developer protocol, which only Chromium has.
#[derive(Debug)]
struct Chromium(&'static str, Value);

impl WebDriverCompatibleCommand for Chromium {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &Url) -> (Method, Option<String>) {
        (Method::POST, Some(json!({ "cmd": self.0, "params": self.1 }).to_string()))
    }
}

/// Slows the browser down by a factor.
pub async fn slow(client: &Client, times: u32) -> Result<(), Failed> {
    client.issue_cmd(Chromium("Emulation.setCPUThrottlingRate", json!({ "rate": times }))).await?;
    Ok(())
}

/// Waits until a condition in JavaScript is true.
pub async fn wait(client: &Client, condition: &str) -> Result<(), Failed> {
    let start = Instant::now();
    while client.execute(&format!("return Boolean({condition})"), Vec::new()).await? != Value::Bool(true) {
        if start.elapsed() > Duration::from_secs(60) {
            return Err(format!("this never holds: {condition}").into());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Waits until a page is ready. A page without a form is ready when it is loaded.
pub async fn ready(client: &Client) -> Result<(), Failed> {
    wait(client, "document.readyState === 'complete' && document.querySelector('form.ask:not([data-ready])') === null")
        .await
}

/// Checks that no error occurred in the page, and that every loaded file belongs to its site.
async fn quiet(client: &Client) -> Result<(), Failed> {
    let others = "return [...window.wrong, ...performance.getEntriesByType('resource').map((one) => one.name)
        .filter((name) => !name.startsWith(location.origin) && !name.startsWith('data:') && !name.startsWith('blob:'))]";
    let wrong = client.execute(others, Vec::new()).await?;
    if wrong == json!([]) { Ok(()) } else { Err(format!("in the console, or from elsewhere: {wrong}").into()) }
}

pub fn same(page: impl Into<Value>, expected: impl Into<Value>, what: &str) -> Result<(), Failed> {
    let (page, expected) = (page.into(), expected.into());
    if page == expected {
        Ok(())
    } else {
        Err(format!("{what}: the page has\n{page:#}\nand expected is\n{expected:#}").into())
    }
}

/// Runs asynchronous JavaScript.
pub async fn script(client: &Client, body: &str, arguments: Vec<Value>) -> Result<Value, Failed> {
    let whole = format!(
        "const done = arguments[arguments.length - 1], args = [...arguments].slice(0, -1);
         const form = document.querySelector('form.ask');
         const idle = async () => {{ do await new Promise((next) => setTimeout(next, 1)); while (form.hasAttribute('aria-busy')); }};
         (async () => {{ {body} }})().then((value) => done({{ value }}), (error) => done({{ error: String(error) }}))"
    );
    let answer = client.execute_async(&whole, arguments).await?;
    match answer.get("error") {
        Some(error) => Err(format!("{error}").into()),
        None => Ok(answer["value"].clone()),
    }
}

/// Sets fields as a user does, and waits for the answer.
pub async fn set(client: &Client, fields: &[(&str, &str)]) -> Result<(), Failed> {
    let fields: BTreeMap<_, _> = fields.iter().copied().collect();
    let body = "for (const [name, value] of Object.entries(args[0])) {
            const field = form.elements[name];
            if (field.type === 'checkbox') { if (String(field.checked) !== value) field.click(); continue; }
            field.value = value;
            field.dispatchEvent(new Event('input', { bubbles: true }));
            field.dispatchEvent(new Event('change', { bubbles: true }));
        }
        form.elements.run?.click();
        await idle();";
    script(client, body, vec![json!(fields)]).await.map(drop)
}

pub async fn text(client: &Client, selector: &str) -> Result<String, Failed> {
    Ok(client.find(Locator::Css(selector)).await?.prop("textContent").await?.unwrap_or_default())
}

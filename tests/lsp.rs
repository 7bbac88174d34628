//! `ptx-atomics lsp`, used in the way an editor does, and the extension for VS Code.

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::Duration,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_lowering::ptx::{FenceSem, LdSem, Scope, Space, StSem, Type, mnemonic::MNEMONICS};
use serde_json::{Value, json};
use strum::IntoEnumIterator;
use testing::{ptx_atomics, root};

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[
        ("the quick fix of a finding removes it", finding),
        ("an IR with the same base name gives the orderings", order),
        ("the newest version has the last answer", newer),
        ("hover describes an instruction", hover),
        ("a litmus test has diagnostics", litmus),
        ("positions count UTF-16 units", utf16),
        ("an invalid document does not end the server", broken),
        ("the exit status follows the protocol", ends),
        ("the grammar has the words of PTX", grammar),
        ("the files of the extension exist", extension),
    ];
    let tests = tests.iter().map(|(name, test)| Trial::test(*name, test));
    tests.collect()
}

/// The time limit for an answer on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server and its messages.
struct Server {
    child: Child,
    input: Option<ChildStdin>,
    said: Receiver<Value>,
    requests: i64,
}

/// A channel with the messages of a server, until it ends.
fn read(output: ChildStdout) -> Receiver<Value> {
    let (sender, said) = channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        loop {
            let mut length = None;
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|bytes| bytes > 2) {
                length = length.or(line.strip_prefix("Content-Length: ").and_then(|number| number.trim().parse().ok()));
                line.clear();
            }
            let mut body = vec![0; length.unwrap_or_default()];
            let message = output.read_exact(&mut body).ok().and_then(|()| serde_json::from_slice(&body).ok());
            if message.is_none_or(|message| sender.send(message).is_err()) {
                break;
            }
        }
    });
    said
}

impl Server {
    /// A server after initialization.
    fn new(arguments: &[&str]) -> Result<Self, Failed> {
        let mut server = Self::raw(arguments)?;
        let known = server.request("initialize", json!({ "processId": null, "rootUri": null, "capabilities": {} }))?;
        assert_eq!(known["capabilities"]["textDocumentSync"], 1, "{known}");
        server.notify("initialized", json!({}))?;
        Ok(server)
    }

    fn raw(arguments: &[&str]) -> Result<Self, Failed> {
        let mut command = ptx_atomics();
        command.arg("lsp").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or("no output")?);
        Ok(Self { child, input, said: read(output), requests: 0 })
    }

    fn send(&mut self, message: &Value) -> Result<(), Failed> {
        self.write(&format!("Content-Length: {}\r\n\r\n{message}", message.to_string().len()))
    }

    fn write(&mut self, text: &str) -> Result<(), Failed> {
        let input = self.input.as_mut().ok_or("the input is closed")?;
        input.write_all(text.as_bytes())?;
        Ok(input.flush()?)
    }

    fn notify(&mut self, method: &str, params: Value) -> Result<(), Failed> {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }))
    }

    /// The answer to a request: its result, or its error.
    fn request(&mut self, method: &str, params: Value) -> Result<Value, Failed> {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        let answer = self.until(|message| message["id"] == id)?;
        Ok(if answer["error"].is_null() { answer["result"].clone() } else { answer["error"].clone() })
    }

    /// The next message for which the predicate holds. Messages before it are dropped.
    fn until(&self, is_it: impl Fn(&Value) -> bool) -> Result<Value, Failed> {
        loop {
            let message = self.said.recv_timeout(PATIENCE)?;
            if is_it(&message) {
                return Ok(message);
            }
        }
    }

    fn open(&mut self, name: &str, text: &str) -> Result<(), Failed> {
        let language = name.rsplit('.').next();
        let document = json!({ "uri": uri(name), "languageId": language, "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }))
    }

    fn change(&mut self, name: &str, version: i64, text: &str) -> Result<(), Failed> {
        let document = json!({ "uri": uri(name), "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": [{ "text": text }] }))
    }

    /// The next diagnostics of a version of a document for which the predicate holds.
    fn diagnostics(&self, name: &str, version: i64, is_it: impl Fn(&[Value]) -> bool) -> Result<Vec<Value>, Failed> {
        let found = |message: &Value| message["params"]["diagnostics"].as_array().cloned();
        let message = self.until(|message| {
            let params = &message["params"];
            params["uri"] == uri(name)
                && params["version"] == version
                && found(message).is_some_and(|found| is_it(&found))
        })?;
        Ok(found(&message).unwrap_or_default())
    }

    fn hover(&mut self, name: &str, line: usize, character: usize) -> Result<Value, Failed> {
        let place = json!({ "line": line, "character": character });
        self.request("textDocument/hover", json!({ "textDocument": { "uri": uri(name) }, "position": place }))
    }

    /// Shuts the server down according to the protocol.
    fn end(mut self) -> Result<(), Failed> {
        assert_eq!(self.request("shutdown", Value::Null)?, Value::Null);
        self.notify("exit", Value::Null)?;
        assert_eq!(self.child.wait()?.code(), Some(0));
        Ok(())
    }
}

/// Kills the server even if a test fails.
impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn uri(name: &str) -> String {
    format!("file:///a/{name}")
}

fn file(path: &str) -> Result<String, Failed> {
    Ok(fs::read_to_string(root().join(path))?)
}

/// The text after edits that insert lines.
fn edited(text: &str, edits: &[Value]) -> String {
    let mut lines: Vec<_> = text.split_inclusive('\n').map(str::to_owned).collect();
    for edit in edits {
        let start = &edit["range"]["start"];
        assert_eq!((start, &start["character"]), (&edit["range"]["end"], &json!(0)), "{edit}");
        let line = start["line"].as_u64().and_then(|line| lines.get_mut(line as usize)).expect("a line");
        line.insert_str(0, edit["newText"].as_str().expect("a text"));
    }
    lines.concat()
}

fn finding() -> Result<(), Failed> {
    let mut server = Server::new(&[])?;
    let text = file("tests/async/r4.ptx")?;
    server.open("r4.ptx", &text)?;
    // First come the possible findings, then the execution that shows one.
    let possible = server.diagnostics("r4.ptx", 1, |_| true)?;
    assert_eq!(possible.iter().map(|said| &said["severity"]).collect_vec(), [2], "{possible:?}");
    let found = server.diagnostics("r4.ptx", 1, |found| found.iter().any(|said| said["severity"] == 1))?;
    let [said] = &found[..] else { return Err(format!("{found:?}").into()) };
    assert_eq!((&said["code"], &said["data"]["source"]), (&json!("R4"), &json!("section 8.9.5 of the PTX manual")));
    assert_eq!(
        said["range"],
        json!({ "start": { "line": 23, "character": 1 }, "end": { "line": 23, "character": 64 } })
    );
    assert_eq!(said["relatedInformation"][0]["location"]["range"]["start"]["line"], 17);
    let message = said["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("an execution: ") && message.contains("insert fence.proxy.async.shared::cta"),
        "{message}"
    );

    let params = |line: usize| {
        let place = json!({ "line": line, "character": 0 });
        let range = json!({ "start": place, "end": place });
        json!({ "textDocument": { "uri": uri("r4.ptx") }, "range": range, "context": { "diagnostics": [] } })
    };
    assert_eq!(server.request("textDocument/codeAction", params(0))?, json!([]));
    let actions = server.request("textDocument/codeAction", params(23))?;
    let edits = actions[0]["edit"]["changes"][uri("r4.ptx")].as_array().cloned().ok_or(actions.to_string())?;
    let mended = edited(&text, &edits);
    assert!(mended.contains("%thread;\n\tfence.proxy.async.shared::cta;\n\tbar.sync 0;\n"), "{mended}");
    server.change("r4.ptx", 2, &mended)?;
    assert_eq!(server.diagnostics("r4.ptx", 2, |_| true)?, Vec::<Value>::new());
    assert_eq!(server.request("textDocument/codeAction", params(23))?, json!([]));
    server.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri("r4.ptx") } }))?;
    server.until(|message| message["params"]["version"].is_null() && message["params"]["diagnostics"] == json!([]))?;
    assert_eq!(server.hover("r4.ptx", 17, 3)?, Value::Null);
    server.end()
}

/// The IR is in a file with the same base name.
fn order() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let next = |ptx: &str| {
        format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .func (.param .b32 r) next(.param .b64 p) {{\n\
            .reg .b64 %rd<2>; .reg .b32 %r<2>;\nld.param.b64 %rd1, [p];\n{ptx}.add.u32 %r1, [%rd1], 1;\nst.param.b32 [r], %r1;\nret;\n}}\n"
        )
    };
    let ir = "define i32 @next(ptr addrspace(1) %p) {\n  %old = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\n  ret i32 %old\n}\n";
    let (lost, kept) = (next("atom.global"), next("atom.acq_rel.sys.global"));
    let mut server = Server::new(&["--time-limit", "0"])?;
    for (ending, text, codes) in
        [("none", &lost, &[][..]), ("ll", &lost, &["R19"]), ("ll", &kept, &[]), ("llir", &lost, &["R19"])]
    {
        let stem = folder.path().join(ending).join("a name");
        fs::create_dir_all(stem.parent().expect("a folder"))?;
        fs::write(stem.with_extension(ending), ir)?;
        let uri = format!("file://{}.ptx", stem.display()).replace(' ', "%20");
        let document = json!({ "uri": uri, "languageId": "ptx", "version": 1, "text": text });
        server.notify("textDocument/didOpen", json!({ "textDocument": document }))?;
        let said = server.until(|message| message["params"]["uri"] == uri)?["params"]["diagnostics"].clone();
        let said = said.as_array().cloned().unwrap_or_default();
        assert_eq!(said.iter().filter_map(|said| said["code"].as_str()).collect_vec(), codes, "{ending}: {said:?}");
        for said in &said {
            let message = said["message"].as_str().unwrap_or_default();
            assert!(message.contains(&format!("a name.{ending}:2: ")), "{message}");
            assert_eq!(said["range"]["start"]["line"], 6, "{said}");
        }
    }
    server.end()
}

/// The server answers for the newest version last, whatever work for older versions is in progress.
fn newer() -> Result<(), Failed> {
    let mut server = Server::new(&["--time-limit", "1"])?;
    let text = file("tests/async/r4.ptx")?;
    server.open("r4.ptx", &text)?;
    for version in 2..30 {
        server.change("r4.ptx", version, &format!("{text}// {version}\n"))?;
    }
    server.change("r4.ptx", 30, "no PTX")?;
    let found = server.diagnostics("r4.ptx", 30, |_| true)?;
    assert!(found.iter().all(|said| said["severity"] == 1) && !found.is_empty(), "{found:?}");
    server.end()
}

fn hover() -> Result<(), Failed> {
    let mut server = Server::new(&["--time-limit", "0"])?;
    let check = |server: &mut Server, target: &str, instruction: &str, expected: &[&str]| -> Result<(), Failed> {
        let text = format!(
            ".version 8.6\n.target {target}\n.visible .entry k() {{\n\t{instruction};\n\tadd.u32 %r1, %r1, 1;\n}}\n"
        );
        server.open("h.ptx", &text)?;
        let hover = server.hover("h.ptx", 3, 3)?;
        let said = hover["contents"]["value"].as_str().unwrap_or_default();
        let missing = expected.iter().filter(|part| !said.contains(**part)).collect_vec();
        assert!(
            missing.is_empty() && (said.is_empty() == expected.is_empty()),
            "{instruction}: no {missing:?} in {said}"
        );
        assert_eq!(server.hover("h.ptx", 4, 3)?, Value::Null);
        Ok(())
    };
    let cases: [(&str, &str, &[&str]); 11] = [
        (
            "sm_90",
            "atom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1",
            &[
                "`acq_rel`, scope `gpu`, global memory",
                "atomicrmw add ptr addrspace(1) %p, i32 %b syncscope(\"device\") acq_rel",
                "row rmw.acq_rel: `atom.acq_rel.<scope>.<rmw op>;`",
                "On sm_90, ptxas 13.5 generates `MEMBAR.ALL.GPU ; ERRBAR ; CGAERRBAR ; ATOMG.E.ADD.STRONG.GPU ; CCTL.IVALL`",
                "memory instructions: 5, barriers among them: 4",
                "generic proxy",
            ],
        ),
        (
            "sm_70",
            "@%p1 ld.acquire.sys.b32 %r1, [%rd1]",
            &["`acquire`, scope `sys`", "row load.seq_cst: `fence.sc.<scope>; ld.acquire.<scope>;`", "ptxas 12.9"],
        ),
        (
            "sm_90",
            "fence.sc.cluster",
            &[
                "`seq_cst`, scope `cluster`",
                "`fence syncscope(\"cluster\") seq_cst`, row fence.seq_cst: `fence.sc.<scope>;`",
                "`%r = load atomic i32, ptr %p syncscope(\"cluster\") seq_cst, align 4`, row load.seq_cst",
            ],
        ),
        (
            "sm_90",
            "red.release.gpu.shared.add.u32 [%rd1], 1",
            &["`release`, scope `gpu`, which is equivalent to `sys` here, shared memory", "row rmw.release"],
        ),
        ("sm_90", "st.global.b32 [%rd1], %r1", &["Weak: it orders nothing", "On sm_90"]),
        ("sm_30", "ld.global.b32 %r1, [%rd1]", &["Weak"]),
        (
            "sm_90",
            "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [tile], 512",
            &["asynchronous", "completion mechanism `bulk_group`", "async proxy", "sm_90 and PTX 8.0"],
        ),
        ("sm_90", "fence.proxy.async", &["It orders accesses of its own thread, on both sides of it."]),
        (
            "sm_100a",
            "ld.relaxed.gpu.global.v8.b32 {%r1, %r2, %r3, %r4, %r5, %r6, %r7, %r8}, [%rd1]",
            &["relaxed", "scope `gpu`"],
        ),
        ("sm_90", "ld.param.b64 %rd1, [k_param]", &["No other thread can write this memory."]),
        ("sm_90", "mul.lo.u32 %r1, %r1, 2", &[]),
    ];
    for (target, instruction, expected) in cases {
        check(&mut server, target, instruction, expected)?;
    }
    server.end()
}

fn litmus() -> Result<(), Failed> {
    let mut server = Server::new(&[])?;
    let check = |server: &mut Server, path: &str, line: &str, severity: i64, expected: &str| -> Result<(), Failed> {
        let text = file(path)?;
        server.open("t.litmus", &text)?;
        let found = server.diagnostics("t.litmus", 1, |found| !found.is_empty())?;
        let said = found.iter().find(|said| said["message"].as_str().is_some_and(|words| words.contains(expected)));
        let said = said.ok_or_else(|| format!("{path}: no {expected:?} in {found:?}"))?;
        let number = said["range"]["start"]["line"].as_u64().unwrap_or_default();
        let at = text.lines().nth(number as usize).unwrap_or_default();
        assert!(at.starts_with(line) && said["severity"] == severity, "{path}: {said} at {at}");
        Ok(())
    };
    for (path, line, severity, expected) in [
        ("examples/litmus/message_passing.litmus", "forall", 3, "holds"),
        ("examples/litmus/store_buffering.litmus", "exists", 3, "holds"),
        ("examples/litmus/async/refill_mistake.litmus", "", 3, "races"),
    ] {
        check(&mut server, path, line, severity, expected)?;
    }
    server.change("t.litmus", 2, "PTX T\n{ x=0; }\n P0 ;\n ld.nothing r0, x ;\nexists (P0:r0 == 1)\n")?;
    let found = server.diagnostics("t.litmus", 2, |_| true)?;
    assert_eq!((&found[0]["severity"], &found[0]["range"]["start"]["line"]), (&json!(1), &json!(3)), "{found:?}");
    server.end()
}

fn utf16() -> Result<(), Failed> {
    let mut server = Server::new(&["--time-limit", "0"])?;
    // The character before has two UTF-16 units and four bytes.
    let text = ".version 8.6\n.target sm_90\n.func f() {\n/* \u{1d11e} */ st.global.b32 [%rd1], %r1;\n/* \u{1d11e} */ ld.global.b32 %r1, [;\n}\n";
    server.open("u.ptx", text)?;
    let found = server.diagnostics("u.ptx", 1, |_| true)?;
    assert_eq!(found[0]["range"]["start"], json!({ "line": 4, "character": 28 }), "{found:?}");
    let hover = server.hover("u.ptx", 3, 9)?;
    assert_eq!(hover["range"]["start"], json!({ "line": 3, "character": 9 }), "{hover}");
    assert_eq!(server.hover("u.ptx", 3, 3)?, Value::Null);
    server.end()
}

/// Invalid documents, positions and messages do not end the server.
fn broken() -> Result<(), Failed> {
    let mut server = Server::new(&["--time-limit", "1"])?;
    let r4 = file("tests/async/r4.ptx")?;
    let deep = format!(".version 8.6\n.target sm_90\n.func f() {{ mov.b32 {}", "{[(".repeat(20_000));
    let texts = [
        "",
        "\u{feff}",
        "\r\r\n\0",
        "/*",
        "\"",
        ".version 8.6\n.target sm_90\n.entry k() {\n@%p",
        &deep,
        &r4[..r4.len() / 2],
    ];
    for (index, text) in texts.iter().enumerate() {
        for ending in ["ptx", "litmus"] {
            let name = format!("{index}.{ending}");
            server.open(&name, text)?;
            let found = server.diagnostics(&name, 1, |_| true)?;
            server.hover(&name, 3, 2)?;
            server.hover(&name, usize::from(u16::MAX), 7)?;
            assert!(!found.is_empty(), "{name}: {text:?}");
        }
    }
    let code = |answer: Value| answer["code"].as_i64();
    assert_eq!(code(server.request("textDocument/rename", json!({}))?), Some(-32601));
    assert_eq!(code(server.request("textDocument/hover", json!({ "position": 1 }))?), Some(-32602));
    assert_eq!(server.hover("unknown.ptx", 0, 0)?, Value::Null);
    server.notify("textDocument/didOpen", json!({ "textDocument": 1 }))?;
    server.notify("$/whatever", json!([]))?;
    server.change("unknown.ptx", 3, "")?;
    server.end()
}

/// The exit status is 0 only if the client followed the protocol.
fn ends() -> Result<(), Failed> {
    let check = |what: &str, mut server: Server, last: &dyn Fn(&mut Server) -> Result<(), Failed>| {
        last(&mut server)?;
        drop(server.input.take());
        assert_eq!(server.child.wait()?.code(), Some(1), "{what}");
        Ok::<_, Failed>(())
    };
    check("exit alone", Server::new(&[])?, &|server| server.notify("exit", Value::Null))?;
    check("the end of the input", Server::new(&[])?, &|_| Ok(()))?;
    check("no message", Server::new(&[])?, &|server| server.write("Content-Length: 3\r\n\r\n{[}"))?;
    check("no header", Server::raw(&[])?, &|server| server.write("what\r\n\r\n"))?;
    Server::new(&["--stdio"])?.end()
}

fn words<T: IntoEnumIterator + ToString>() -> impl Iterator<Item = String> {
    T::iter().map(|word| word.to_string())
}

/// Each pattern has exactly the words of its table.
fn grammar() -> Result<(), Failed> {
    let text = file("products/editors/vscode/syntaxes/ptx.tmLanguage.json")?;
    let grammar: Value = serde_json::from_str(&text)?;
    let first = |words: &str| words.split('.').next().map(str::to_owned);
    let semantics = words::<FenceSem>().chain(words::<LdSem>()).chain(words::<StSem>());
    // Omits semantics without a word, and splits compound words.
    let semantics =
        semantics.filter(|word| word != "plain").flat_map(|word| word.split('.').map(str::to_owned).collect_vec());
    let spaces = words::<Space>().filter(|space| space != "generic").chain(["param".to_owned()]);
    let tables: [(&str, &str, BTreeSet<String>); 6] = [
        ("instructions", "begin", MNEMONICS.iter().filter_map(|row| first(row.words)).collect()),
        ("types", "match", words::<Type>().collect()),
        ("directives", "match", words::<Type>().collect()),
        ("semantics", "match", semantics.collect()),
        ("scopes", "match", words::<Scope>().collect()),
        ("spaces", "match", spaces.collect()),
    ];
    for (name, key, words) in tables {
        let pattern = grammar["repository"][name][key].as_str().unwrap_or_default();
        let expected = format!("(?:{})", words.iter().join("|"));
        assert!(pattern.contains(&expected), "{name}: expected {expected}, found {pattern}");
    }
    Ok(())
}

/// The extension's files are valid JSON, and each named file exists.
fn extension() -> Result<(), Failed> {
    let folder = root().join("products/editors/vscode");
    let package: Value = serde_json::from_str(&file("products/editors/vscode/package.json")?)?;
    let contributes = &package["contributes"];
    let listed = |key: &str, of: &str| {
        contributes[key].as_array().into_iter().flatten().map(|one| one[of].clone()).collect_vec()
    };
    let paths = listed("languages", "configuration").into_iter().chain(listed("grammars", "path"));
    for path in paths.unique() {
        let path = path.as_str().ok_or("no path")?;
        let text = fs::read_to_string(folder.join(path)).map_err(|error| format!("{path}: {error}"))?;
        serde_json::from_str::<Value>(&text).map_err(|error| format!("{path}: {error}"))?;
    }
    let code = fs::read_to_string(folder.join(package["main"].as_str().ok_or("no main")?))?;
    assert_eq!(listed("languages", "id"), ["ptx", "litmus"]);
    assert!(["ptx", "litmus"].iter().all(|id| code.contains(&format!("language: \"{id}\""))), "{code}");
    let settings = contributes["configuration"]["properties"].as_object().ok_or("no settings")?;
    let unused =
        settings.keys().filter(|key| !code.contains(&format!("\"{}\"", key.trim_start_matches("ptx-atomics."))));
    assert_eq!(unused.collect_vec(), Vec::<&String>::new());
    Ok(())
}

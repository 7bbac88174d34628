//! Programs as texts with choices, for the optimizer's rewrites: waiting loops, and fences next to fences and at the
//! ends of threads.
//!
//! `[a|b]` is a choice, and choices may be nested. A word with `%` is replaced by its text in `WORDS`; `%data` is the
//! same throughout a program. `||` separates threads.

use ptx_memory_model::{
    place::{Place, Scope},
    program::{Program, RmwOp},
    source::{Cpp, read::sources},
};

/// The texts of words. A text may use words that follow it.
const WORDS: [(&str, &str); 21] = [
    // Loops that wait until y is 1; %taken are the loops that then set it to 2.
    ("%wait", "[%read|%taken|%other]"),
    (
        "%read",
        "[do { r0=%load y } while r0 == 0\
         |do { r0=%load y; break if r0 == 1; r0=%load y } while r0 == 0]",
    ),
    (
        "%taken",
        "[do { r0=%cas y 1 2 } while r0 != 1\
         |do { r0=rmw.exch.%any.gpu y 2 } while r0 != 1\
         |do { do { r0=%load y } while r0 != 1; r0=%cas y 1 2 } while r0 != 1\
         |do { r0=%cas y 1 2 } while r0 != 2]",
    ),
    // Further operations in a loop.
    (
        "%other",
        "[do { r0=%load y; r1=ld.%data x } while r0 == 0\
         |do { r1=ld.[rlx|acq].cta y; r0=%load y } while r0 == 0\
         |do { r0=%load y; %fence} while r0 == 0]",
    ),
    // Loops that wait for nothing and set y to 2.
    (
        "%update",
        "[do { r1=%load y; r0=%cas y r1 2 } while r0 != r1\
         |r1=%load y; do { r0=r1; r1=%cas y r0 2 } while r1 != r0\
         |do { r0=%cas y 0 2; break if r0 == 0; r0=%load y } while r0 == 0\
         |do { r0=%cas y 0 2 } while r0 == 3\
         |do { r0=rmw.exch.%any.gpu y 2 } while r0 == 3]",
    ),
    // The loops of a lock, which is 1 if it is taken.
    (
        "%lock",
        "[do { r0=%cas y 0 1 } while r0 != 0\
         |do { r0=rmw.exch.%any.gpu y 1 } while r0 != 0\
         |do { do { r0=ld.rlx.gpu y } while r0 != 0; r0=%cas y 0 1 } while r0 != 0]",
    ),
    ("%unlock", "[st.[rlx|rel|sc].gpu y 0|r7=rmw.exch.rel.gpu y 0|fence.[rel|ar].gpu; st.rlx.gpu y 0]"),
    // Ways to set y to 1 and to read it; each may have an ordering.
    ("%set", "[%store y 1|fence.[rel|sc].gpu; st.rlx.gpu y 1|r7=rmw.exch.rel.gpu y 1]"),
    ("%get", "[r8=%load y; |r8=ld.rlx.gpu y; fence.[acq|sc].gpu; ]"),
    // Two fences, or one.
    ("%two", "%fence [%fence|]"),
    ("%fence", "fence.[acq|rel|ar|sc].[cta|gpu]; "),
    ("%acquires", "[|fence.acq.gpu; |fence.sc.gpu; ]"),
    ("%releases", "[|fence.rel.gpu; |fence.sc.gpu; ]"),
    ("%seq_x", "[st.sc.gpu x 1; |st.rlx.gpu x 1; fence.sc.gpu; ]"),
    ("%seq_y", "[st.sc.gpu y 1; |st.rlx.gpu y 1; fence.sc.gpu; ]"),
    ("%load", "ld.[rlx|acq|sc].gpu"),
    ("%store", "st.[rlx|rel|sc].gpu"),
    ("%cas", "cas.%any/[rlx|acq|sc].gpu"),
    ("%any", "[rlx|acq|rel|ar|sc]"),
    ("%write", "[%store y 1|r7=rmw.exch.%any.gpu y 1]"),
    ("%look", "[r8=%load y; |r8=rmw.add.%any.gpu y 10; ]"),
];

/// A name, and the threads.
pub type Template = (&'static str, &'static str);

/// The shapes with waiting loops instead of some accesses.
pub const WAITING: [Template; 12] = [
    ("MP", "st.%data x 1; %set || %wait; %acquires r9=ld.%data x"),
    ("LB", "r9=ld.%data x; %set || %wait; %acquires st.%data x 1"),
    ("ISA2", "st.%data x 1; %set || %wait; st.rel.gpu z 1 || r8=ld.acq.gpu z; if r8 == 1 { r9=ld.%data x }"),
    ("MP, released by a loop", "st.%data x 1; %releases %update || %get if r8 == 2 { r9=ld.%data x }"),
    ("MP, released by a loop that waits", "st.%data x 1; %taken || st.rlx.gpu y 1; %get if r8 == 2 { r9=ld.%data x }"),
    (
        "WRC, passed on by a loop",
        "st.%data x 1; st.rel.gpu y 3 \
         || do { [r2=ld.[rlx|acq].gpu y; if r2 == 3 { r5=1 }; r0=%cas y 1 2|r0=%cas y 1 2; if r0 == 3 { r5=1 }] } while r0 != 1 \
         || st.rlx.gpu y 1; r8=ld.acq.gpu y; if r8 == 2 { r9=ld.%data x }",
    ),
    (
        "WRC, passed on in a loop",
        "st.%data x 1; st.rel.gpu y 10 \
         || do { r0=rmw.add.%any.gpu y 1; if r0 == 10 { r5=1 } } while r0 == 10 \
         || st.rlx.gpu y 20; r8=ld.acq.gpu y; if r8 == 21 { r9=ld.%data x }",
    ),
    ("SB", "%seq_x [do { r0=%load y } while r0 == 2|%update] || %seq_y [r9=ld.sc.gpu x|r9=rmw.add.sc.gpu x 7]"),
    (
        "SB, in a round that fails",
        "%seq_x do { r0=[%load y|%cas y 5 6]; if r0 == 0 { r5=1 } } while r0 != 5 \
         || [st.sc.gpu y 5; |st.rlx.gpu y 5; fence.sc.gpu; ][r9=ld.sc.gpu x|r9=rmw.add.sc.gpu x 7]",
    ),
    ("R", "%update; r9=ld.[rlx|sc].gpu x || %seq_x r8=ld.sc.gpu y"),
    ("RWC", "st.[rlx|rel|sc].gpu y 1 || %read; r9=ld.[rlx|sc].gpu x || %seq_x r8=ld.sc.gpu y"),
    ("lock", "%lock; r8=ld.%data x; st.%data x 1; %unlock || %lock; r8=ld.%data x; st.%data x 2; st.rel.gpu y 0"),
];

/// Fences next to fences, next to operations with orderings, and at the ends of threads.
pub const FENCED: [Template; 14] = [
    ("MP", "st.%data x 1; %two %write || %get if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %fence %store z 1; %fence %store y 1 || %get if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %fence %store y 1; %fence %store z 1 || %get if r8 == 1 { r9=ld.%data x }"),
    ("MP", "[%fence|]st.%data x 1; %fence %write[|; %fence] || %get if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || r8=%load y; if r8 == 2 { %fence}; %fence if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || %look %two if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || %look %fence r7=%load z; %fence if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || r7=%load z; %fence %look %fence if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || [%fence|]%look %fence if r8 == 1 { r9=ld.%data x }"),
    ("MP", "st.%data x 1; %set || %look %fence if r8 == 1 { r9=ld.%data x }; %fence [r7=ld.rlx.gpu z|]"),
    (
        "SB",
        "%store x 1; %two [r8=%load y|r8=rmw.add.%any.gpu y 10] || %seq_y [fence.sc.gpu; r9=ld.rlx.gpu|r9=ld.sc.gpu] x",
    ),
    // Fences next to accesses that no other thread observes.
    (
        "SB",
        "[r7=ld.rlx.gpu z; |]st.rlx.gpu x 1; %fence [st.rlx.gpu z 1; |]r8=ld.rlx.gpu y || %seq_y [fence.sc.gpu; r9=ld.rlx.gpu|r9=ld.sc.gpu] x",
    ),
    ("LB", "r8=%load x; %two %write || [r9=ld.acq.gpu y|r9=ld.rlx.gpu y; fence.[acq|sc].gpu]; st.rlx.gpu x 1"),
    (
        "ISA2",
        "st.%data x 1; st.rel.gpu y 1 || r7=%load y; %two %store z 1 || r8=ld.acq.gpu z; if r8 == 1 { r9=ld.%data x }",
    ),
];

/// Updates that do not change the value.
pub const UNWRITTEN: [Template; 3] = [
    (
        "MP",
        "st.%data x 1; [|%fence]r7=rmw.update.%any.gpu y 5 || st.rlx.gpu y 5; r8=rmw.exch.%any.gpu y 7; if r8 == 5 { r9=ld.%data x }",
    ),
    (
        "MP",
        "st.%data x 1; st.[rel|sc].gpu y 5 || r8=rmw.update.%any.gpu y [3|5]; %acquires if r8 == 5 { r9=ld.%data x }",
    ),
    (
        "SB",
        "st.[rlx|sc].gpu x 1; [|%fence]r7=rmw.update.%any.gpu y 5 || st.rlx.gpu y 5; [st.sc.gpu y 7; |st.rlx.gpu y 7; fence.sc.gpu; ]r8=ld.sc.gpu x",
    ),
];

/// Updates that pass on acquired values to threads that acquire them at a narrower scope.
pub const PASSED_ON: [Template; 4] = [
    (
        "WWC",
        "[|fence.[rel|sc].gpu; ]r0=[rmw.exch.[ar|sc].gpu x 4|cas.[ar|sc]/rlx.gpu x 3 4][|; fence.[acq|sc].gpu; r1=ld.rlx.gpu z] \
         || r0=ld.rlx.gpu x; fence.[acq|sc].cta; st.rlx.gpu y 1 \
         || st.rlx.gpu y 2; fence.[rel|sc].gpu; st.rlx.gpu x 3",
    ),
    (
        "WWC, in a loop",
        "do { r0=cas.[ar|sc]/rlx.gpu x 3 4 } while r0 != 3; r1=ld.rlx.gpu z \
         || r0=ld.rlx.gpu x; fence.acq.cta; st.rlx.gpu y 1 \
         || st.rlx.gpu y 2; fence.rel.gpu; st.rlx.gpu x 3",
    ),
    // An update carries a release on to threads beyond the scope of the store or the load.
    (
        "MP, carried on",
        "st.%data x 1; fence.[rel|ar].gpu; st.rlx.cta y 1 || r0=rmw.add.rlx.gpu y 1 \
         || r8=ld.rlx.gpu y; fence.acq.gpu; if r8 == 2 { r9=ld.%data x }",
    ),
    (
        "MP, carried on",
        "st.%data x 1; fence.rel.gpu; st.rlx.gpu y 1 || r0=rmw.add.rlx.gpu y 1 \
         || r8=ld.[rlx|acq].cta y; fence.[acq|ar].gpu; if r8 == 2 { r9=ld.%data x }",
    ),
];

/// Updates whose ordering applies to their own read and write: another thread also accesses the location plainly.
pub const OWN: [Template; 3] = [
    (
        "own read",
        "[|fence.[rel|sc].gpu; |st.rlx.gpu z 1; ]r0=rmw.exch.%any.gpu y 1 || r1=ld.acq.gpu y; if r1 == 1 { st.na y 2 }",
    ),
    (
        "own write",
        "r0=ld.na y; st.rel.gpu y 1 || r1=cas.%any/[rlx|acq].gpu y 1 2[|; fence.[acq|sc].gpu; r2=ld.rlx.gpu z]",
    ),
    (
        "own write, in a loop",
        "r0=ld.na y; st.rel.gpu y 1 || do { r1=cas.[acq|ar]/[rlx|acq].gpu y 1 2 } while r1 != 1; r2=ld.rlx.gpu z",
    ),
];

/// The scope of a program's operations, and the placement of its threads.
pub type Placed = (Scope, Vec<Place>);

/// A function that creates a program.
pub type Made<'m> = &'m dyn Fn() -> Program<Cpp>;

/// Calls `each` for every program of the templates, with its name and a function that creates it. `update` replaces
/// `rmw.update`, and `placed` gives the placements for a number of threads.
pub fn each(
    templates: &[Template],
    update: RmwOp,
    placed: &dyn Fn(usize) -> Vec<Placed>,
    each: &mut dyn FnMut(&str, Made<'_>),
) {
    for (name, text) in templates {
        let placed = placed(text.split("||").count());
        let choices = if text.contains("%data") { &["na", "rlx.gpu"][..] } else { &[""] };
        for data in choices {
            let text = text.replace("rmw.update", &format!("rmw.{update}"));
            expand(data, String::new(), &text, &mut |text| {
                for (scope, places) in &placed {
                    each(name, &|| program(&text.replace(".gpu", &format!(".{scope}")), places));
                }
            });
        }
    }
}

/// Expands the choices of `rest`, appended to `made`, and calls `each` with every text.
fn expand(data: &str, made: String, rest: &str, each: &mut dyn FnMut(&str)) {
    let Some(at) = rest.find(['%', '[']) else { return each(&(made + rest)) };
    let (before, rest) = rest.split_at(at);
    let made = made + before;
    let mut words = WORDS.into_iter().chain([("%data", data)]);
    if let Some((word, text)) = words.find(|(word, _)| rest.starts_with(word)) {
        return expand(data, made, &format!("{text}{}", &rest[word.len()..]), each);
    }
    let mut depth = 0;
    let (mut choices, mut start) = (Vec::new(), 1);
    for (index, c) in rest.char_indices() {
        depth += i32::from(c == '[') - i32::from(c == ']');
        if depth == 0 || depth == 1 && c == '|' {
            choices.push(&rest[start..index]);
            start = index + 1;
        }
        if depth == 0 {
            break;
        }
    }
    for choice in choices {
        expand(data, made.clone(), &format!("{choice}{}", &rest[start..]), each);
    }
}

/// The program of a text without choices.
pub(crate) fn program(text: &str, places: &[Place]) -> Program<Cpp> {
    let threads = text.split("||").zip(places).enumerate().map(|(number, (code, place))| {
        let cluster = place.cluster.map_or(String::new(), |cluster| format!(".{cluster}"));
        format!("P{number}@{}{cluster}.{}: {}\n", place.cta, place.gpu, code.trim())
    });
    let text = format!("name: program\n{}", threads.collect::<String>());
    let sources = sources(&text).unwrap_or_else(|error| panic!("{text}{error}"));
    sources.into_iter().next().expect("it has a name").program
}

//! Changes of a thread's place in the text of a test.

use ptx_memory_model::{
    litmus::Litmus,
    place::{Place, Processor},
};

/// The text of a test with a thread at another place. All other text stays as it is. `None` if the text has no such
/// thread, or if the thread does not run on a GPU.
pub fn placed(text: &str, thread: usize, place: Place) -> Option<String> {
    let at = Litmus::threads(text).ok()?.into_iter().nth(thread)?;
    let processor = text[at.clone()].rsplit('@').next().and_then(|word| word.trim().parse::<Processor>().ok());
    if processor.is_some_and(|processor| !processor.is_gpu()) {
        return None;
    }
    let cluster = place.cluster.map(|cluster| format!("cluster {cluster},")).unwrap_or_default();
    let words = format!("P{thread}@cta {},{cluster}gpu {}", place.cta, place.gpu);
    // The following text keeps its columns if there is enough space.
    let after = &text[at.end..];
    let room = after.len() - after.trim_start_matches(' ').len();
    let kept = (room + at.len()).saturating_sub(words.len()).max(room.min(1));
    Some(format!("{}{words}{:kept$}{}", &text[..at.start], "", &after[room..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = " P0            | P1@cta 1,gpu 0 ;";

    /// Checks the new header; all other text stays as it is.
    fn check(header: &str, thread: usize, (cta, cluster, gpu): (u32, Option<u32>, u32), expected: &str) {
        let text = |header: &str| {
            format!(
                "PTX MP\n\"P0 | P1 ;\"\n{{ x=0; }}\n{header}\n st.weak x, 1  | ld.weak r0, x  ;\nexists (P1:r0 == 1)\n"
            )
        };
        let placed = placed(&text(header), thread, Place { gpu, cluster, cta, ..Place::default() });
        assert_eq!(placed.as_deref(), Some(&*text(expected)));
    }

    #[test]
    fn only_the_header_changes() {
        check(HEADER, 0, (0, None, 0), " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;");
        check(HEADER, 1, (0, Some(1), 2), " P0            | P1@cta 0,cluster 1,gpu 2 ;");
        check("P0|P1; // two", 0, (0, None, 1), "P0@cta 0,gpu 1|P1; // two");
        check(" P0 // one\n | P1 ;", 0, (1, None, 0), " P0@cta 1,gpu 0 // one\n | P1 ;");
        check(" P0@gpu 3,cta 3      | P1 ;", 0, (3, None, 3), " P0@cta 3,gpu 3      | P1 ;");
    }

    #[test]
    fn rows_may_be_wrong() {
        let wrong = "PTX t\n{ x=0; }\n P0 | P1 ;\n nothing x |";
        assert_eq!(placed(wrong, 1, Place::default()).map(|text| text.contains("P1@cta 0,gpu 0 ;")), Some(true));
        assert_eq!(placed(wrong, 2, Place::default()), None);
        assert_eq!(placed("PTX", 0, Place::default()), None);
        assert_eq!(placed("PTX t\n{ x=0; }\n P0@x86 ;\n NOP ;\n", 0, Place::default()), None);
    }
}

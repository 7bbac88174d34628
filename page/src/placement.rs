//! Where the threads of a test run, changed in its text.

use ptx_memory_model::place::Place;

/// The text of a test with a thread at another place. All else stays as it is; `None` if the text has no such thread.
pub fn placed(text: &str, thread: usize, place: Place) -> Option<String> {
    let is_header = |line: &&str| line.trim_start().starts_with("P0") && line.trim_end().ends_with(';');
    let header = text.lines().find(is_header)?;
    let start = header.as_ptr() as usize - text.as_ptr() as usize;
    let (cells, end) = header.split_at(header.trim_end().len() - 1);
    let mut cells: Vec<String> = cells.split('|').map(str::to_owned).collect();
    let cell = cells.get_mut(thread)?;
    let cluster = place.cluster.map(|cluster| format!("cluster {cluster},")).unwrap_or_default();
    let words = format!("P{thread}@cta {},{cluster}gpu {}", place.cta, place.gpu);
    // Those below stay where they are, if there is room.
    let before = cell.len() - cell.trim_start().len();
    let width = cell.len().max(before + words.len() + 1);
    *cell = format!("{:before$}{words:<rest$}", "", rest = width - before);
    Some(format!("{}{}{end}{}", &text[..start], cells.join("|"), &text[start + header.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(thread: usize, place: (u32, Option<u32>, u32), header: &str) {
        let text = "PTX MP\n{ x=0; }\n P0            | P1@cta 1,gpu 0 ;\n st.weak x, 1  | ld.weak r0, x  ;\nexists (P1:r0 == 1)\n";
        let (cta, cluster, gpu) = place;
        let placed = placed(text, thread, Place { gpu, cluster, cta }).expect("the thread is there");
        assert_eq!(placed.lines().nth(2), Some(header));
        assert_eq!(placed.lines().count(), text.lines().count());
    }

    #[test]
    fn only_the_header_changes() {
        check(0, (0, None, 0), " P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;");
        check(1, (0, Some(1), 2), " P0            | P1@cta 0,cluster 1,gpu 2 ;");
        assert_eq!(placed("PTX", 0, Place::default()), None);
    }
}

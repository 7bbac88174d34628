//! The drawing as SVG, with a layout algorithm of our own.
//!
//! Threads are columns, and program order goes down. All other edges run in the gutters between columns and in the
//! lanes between rows, so that no edge crosses an instruction: an edge leaves the side of one box, runs along a lane of
//! its own, and enters the side of another box. Its name is at its start.

use crate::report::diagram::{Diagram, Edge, LEVELS, Level, Node, Relations};

/// The width of a character of the monospaced fonts that browsers have, at 12 px.
const CHARACTER: f64 = 7.3;
const SMALL_CHARACTER: f64 = 6.1;
const LINE: f64 = 16.0;
const SPACED_LINE: f64 = LINE + 4.0;
const TITLE: f64 = 15.0;
/// The maximum number of characters of a sentence on a line.
const SENTENCE: usize = 100;
/// The distance between the ends of edges at one side of a box. The ends at the left side are lower by half of
/// this distance, so that no two ends are at the same height.
const PORT: f64 = 14.0;
const LANE: f64 = 9.0;
const MARGIN: f64 = 16.0;
/// The room for an arrow head and a bend.
const STUB: f64 = 14.0;
const INK: &str = "#1f2328";
const HIGHLIGHT: &str = "#ffd8a8";

/// The drawing as an SVG image.
pub fn svg(diagram: &Diagram) -> String {
    let layout = Layout::new(diagram);
    let mut body = String::new();
    let title = format!("font-size=\"{TITLE}\" font-weight=\"bold\"");
    let caption = wrapped(&diagram.caption);
    let lines = std::iter::once((&diagram.name, &title[..])).chain(caption.iter().map(|line| (line, "")));
    for (index, (line, style)) in lines.enumerate() {
        let y = MARGIN + 12.0 + index as f64 * SPACED_LINE;
        body += &format!("<text x=\"{MARGIN}\" y=\"{y:.1}\" {style}>{}</text>\n", escaped(line));
    }
    layout.groups(&mut body);
    // Later elements are drawn on top.
    let edges = || diagram.edges.iter().zip(&layout.routes);
    edges().filter(|(edge, _)| edge.in_cycle).for_each(|(_, route)| highlight(&mut body, route));
    edges().for_each(|(edge, route)| line(&mut body, edge, route));
    (0..diagram.nodes.len()).for_each(|node| layout.instruction(&mut body, node));
    edges().for_each(|(edge, route)| name(&mut body, edge, route));
    layout.legend(&mut body);

    let (width, height) = (layout.width(), layout.height);
    let markers = diagram.legend().map(marker).collect::<String>();
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\" \
         font-size=\"12\" fill=\"{INK}\">\n<title>{}</title>\n<defs>\n{markers}</defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n{body}</svg>\n",
        escaped(&diagram.name)
    )
}

/// The course of an edge, and the position of its name.
struct Route {
    points: Vec<(f64, f64)>,
    /// The position of the name, and whether the name ends there instead of beginning.
    name: Option<(f64, f64, bool)>,
}

/// A position in the table of columns and rows.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Cell {
    column: usize,
    row: usize,
}

/// The gutters and the lane that an edge passes through. Gutter i is left of column i, and lane i above row i.
struct Passage {
    from: End,
    to: End,
    /// The gutter in which the edge leaves, and the gutter in which it arrives.
    gutters: [usize; 2],
    /// The lane between rows, if the two gutters differ.
    lane: Option<usize>,
}

#[derive(Clone, Copy)]
struct End {
    node: usize,
    right: bool,
}

struct Layout<'d> {
    diagram: &'d Diagram,
    cells: Vec<Cell>,
    columns: usize,
    /// Left edges of columns and their widths; tops of rows and their heights.
    x: Vec<(f64, f64)>,
    y: Vec<(f64, f64)>,
    /// The levels of places that occur, and the tops of their bars.
    levels: Vec<&'static Level>,
    header: f64,
    routes: Vec<Route>,
    height: f64,
}

impl<'d> Layout<'d> {
    fn new(diagram: &'d Diagram) -> Self {
        let columns = diagram.threads.len().max(1);
        let cells = cells(diagram, columns);
        let rows = cells.iter().map(|cell| cell.row + 1).max().unwrap_or(0);
        let passages: Vec<Option<Passage>> = diagram.edges.iter().map(|edge| passage(diagram, edge, &cells)).collect();
        let ports = Ports::new(diagram, &passages, &cells);
        let vertical = Lanes::vertical(&passages, &cells, columns);
        let horizontal = Lanes::horizontal(&passages, rows);

        let mut x = Vec::new();
        let mut gutters = Vec::new();
        let mut at = MARGIN;
        for gutter in 0..=columns {
            let [left, right] = [true, false].map(|right| stub(diagram, &passages, gutter, right));
            let lanes = vertical.counts[gutter] as f64 * LANE;
            // An outer gutter without edges has no width.
            let empty = lanes == 0.0 && (gutter == 0 || gutter == columns);
            gutters.push(at + left);
            at += if empty { 0.0 } else { left + lanes + right };
            if gutter < columns {
                let width = column_width(diagram, &cells, gutter);
                x.push((at, width));
                at += width;
            }
        }
        x.push((at, 0.0));

        let header = MARGIN + (1 + wrapped(&diagram.caption).len()) as f64 * SPACED_LINE;
        let mut y = Vec::new();
        let mut lanes = Vec::new();
        let present = |level: &&Level| diagram.threads.iter().any(|thread| (level.of)(&thread.place).is_some());
        let levels: Vec<&Level> = LEVELS.iter().filter(present).collect();
        let mut at = header + levels.len() as f64 * SPACED_LINE + LINE;
        for row in 0..=rows {
            lanes.push(at + 10.0);
            at += 20.0 + horizontal.counts[row] as f64 * LANE;
            if row < rows {
                let height = ports.height(diagram, &cells, row);
                y.push((at, height));
                at += height;
            }
        }
        let height = at + MARGIN + LINE * (legend_lines(diagram) + 1) as f64;

        let mut layout = Self { diagram, cells, columns, x, y, levels, header, routes: Vec::new(), height };
        let place = |index: usize, passage: &Passage| {
            let [from, to] =
                [(passage.from, 0), (passage.to, 1)].map(|(end, which)| layout.port(end, ports.of[index][which]));
            let lane = |which: usize| gutters[passage.gutters[which]] + vertical.of[index][which] as f64 * LANE;
            let (first, last) = (lane(0), lane(1));
            let mut points = vec![from, (first, from.1)];
            if let Some(row) = passage.lane {
                let y = lanes[row] + horizontal.of[index][0] as f64 * LANE;
                points.extend([(first, y), (last, y)]);
            }
            points.extend([(last, to.1), to]);
            let column = layout.x[layout.cells[passage.from.node].column];
            let beside = if passage.from.right { column.0 + column.1 + 4.0 } else { column.0 - 4.0 };
            Route { points, name: Some((beside, from.1 - 3.0, !passage.from.right)) }
        };
        let routes = passages.iter().enumerate().map(|(index, passage)| match passage {
            Some(passage) => place(index, passage),
            None => layout.down(&diagram.edges[index]),
        });
        layout.routes = routes.collect();
        layout
    }

    fn width(&self) -> f64 {
        let title = self.diagram.name.chars().count() as f64 * CHARACTER * TITLE / 12.0;
        let captions = wrapped(&self.diagram.caption);
        let longest = captions.iter().map(|line| line.chars().count() as f64 * CHARACTER).fold(title, f64::max);
        let legend = self.diagram.legend().map(|relation| relation.words.len() as f64 * CHARACTER + 160.0);
        let content = self.x[self.columns].0.max(longest + MARGIN);
        legend.fold(content, f64::max) + MARGIN
    }

    /// The box of an instruction: left, top, width, height.
    fn rectangle(&self, node: usize) -> (f64, f64, f64, f64) {
        let cell = self.cells[node];
        let ((left, column), (top, height)) = (self.x[cell.column], self.y[cell.row]);
        let width = width(self.diagram, node);
        (left + (column - width) / 2.0, top, width, height)
    }

    fn port(&self, end: End, number: usize) -> (f64, f64) {
        let (left, top, width, _) = self.rectangle(end.node);
        let y = top + 10.0 + number as f64 * PORT;
        if end.right { (left + width, y) } else { (left, y + PORT / 2.0) }
    }

    /// Program order, from one instruction to the next.
    fn down(&self, edge: &Edge) -> Route {
        let (left, top, width, height) = self.rectangle(edge.from);
        let x = left + width / 2.0;
        Route { points: vec![(x, top + height), (x, self.rectangle(edge.to).1)], name: None }
    }

    fn instruction(&self, body: &mut String, index: usize) {
        let node = &self.diagram.nodes[index];
        let (x, y, width, height) = self.rectangle(index);
        let (stroke, thickness) = if self.diagram.in_cycle(index) { ("#cf222e", 2.0) } else { ("#8a8f98", 1.0) };
        let dashes = if node.later { " stroke-dasharray=\"5 3\"" } else { "" };
        let fill = if node.thread.is_some() { "white" } else { "#f6f8fa" };
        *body += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\" fill=\"{fill}\" \
             stroke=\"{stroke}\" stroke-width=\"{thickness}\"{dashes}/>\n"
        );
        let lines = lines(self.diagram, index);
        let mut y = y + (height - LINE * lines.len() as f64) / 2.0 + 12.0;
        for (line, text) in lines.iter().enumerate() {
            let color = if line == 0 { INK } else { "#57606a" };
            let x = x + width / 2.0;
            *body += &format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" fill=\"{color}\">{}</text>\n",
                escaped(text)
            );
            y += LINE;
        }
    }

    /// Bars over the threads of one place, and the threads' names.
    fn groups(&self, body: &mut String) {
        let threads = &self.diagram.threads;
        for (level, Level { color, of }) in self.levels.iter().enumerate() {
            let key = |thread: usize| {
                self.levels[..=level].iter().map(|level| (level.of)(&threads[thread].place)).collect::<Vec<_>>()
            };
            let mut first = 0;
            while first < threads.len() {
                let last =
                    (first..threads.len()).take_while(|&thread| key(thread) == key(first)).last().unwrap_or(first);
                if let Some(name) = of(&threads[first].place) {
                    let (left, right) = (self.x[first].0, self.x[last].0 + self.x[last].1);
                    let y = self.header + level as f64 * SPACED_LINE;
                    *body += &format!(
                        "<rect x=\"{left:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{LINE}\" rx=\"3\" fill=\"{color}\"/>\n\
                         <text x=\"{:.1}\" y=\"{:.1}\" font-size=\"11\">{name}</text>\n",
                        right - left,
                        left + 6.0,
                        y + 12.0
                    );
                }
                first = last + 1;
            }
        }
        let y = self.header + self.levels.len() as f64 * SPACED_LINE + 12.0;
        for (thread, (x, width)) in threads.iter().zip(&self.x) {
            let x = x + width / 2.0;
            *body += &format!(
                "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\n",
                thread.name
            );
        }
    }

    fn legend(&self, body: &mut String) {
        let mut y = self.height - MARGIN - LINE * (legend_lines(self.diagram) as f64 - 1.0);
        if !self.diagram.cycle.is_empty() {
            *body += &format!(
                "<line x1=\"{MARGIN}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"{HIGHLIGHT}\" \
                 stroke-width=\"7\"/>\n<text x=\"{2:.1}\" y=\"{y:.1}\" font-size=\"11\">the {3}</text>\n",
                y - 4.0,
                MARGIN + 24.0,
                MARGIN + 32.0,
                self.diagram.marked
            );
            y += LINE;
        }
        for relation in self.diagram.legend() {
            let Relations { name, color, words } = relation;
            *body += &format!(
                "<line x1=\"{MARGIN}\" y1=\"{0:.1}\" x2=\"{1:.1}\" y2=\"{0:.1}\" stroke=\"{color}\" stroke-width=\"1.5\"/>\n\
                 <text x=\"{2:.1}\" y=\"{y:.1}\" font-size=\"11\"><tspan fill=\"{color}\">{name}</tspan>: {words}</text>\n",
                y - 4.0,
                MARGIN + 24.0,
                MARGIN + 32.0
            );
            y += LINE;
        }
    }
}

fn legend_lines(diagram: &Diagram) -> usize {
    diagram.legend().count() + usize::from(!diagram.cycle.is_empty())
}

/// Initial writes above, as many in a row as there are threads.
fn cells(diagram: &Diagram, columns: usize) -> Vec<Cell> {
    let initial = diagram.nodes.iter().filter(|node| node.thread.is_none()).count();
    let mut below = vec![initial.div_ceil(columns); columns];
    let cell = |(index, node): (usize, &Node)| match node.thread {
        None => Cell { column: index % columns, row: index / columns },
        Some(column) => {
            let row = below[column];
            below[column] += 1;
            Cell { column, row }
        }
    };
    diagram.nodes.iter().enumerate().map(cell).collect()
}

/// The passage of an edge; `None` for an edge that goes straight down.
fn passage(diagram: &Diagram, edge: &Edge, cells: &[Cell]) -> Option<Passage> {
    if matches!(edge.relation.name, "po" | "operation") && diagram.adjacent(edge.from, edge.to) {
        return None;
    }
    let (from, to) = (cells[edge.from], cells[edge.to]);
    let rightwards = from.column <= to.column;
    let enters_right = from.column >= to.column;
    let leaves = from.column + usize::from(rightwards);
    let enters = to.column + usize::from(enters_right);
    let lane = (leaves != enters).then_some(if from.row < to.row { to.row } else { to.row + 1 });
    let (from, to) = (End { node: edge.from, right: rightwards }, End { node: edge.to, right: enters_right });
    Some(Passage { from, to, gutters: [leaves, enters], lane })
}

/// For each edge, the positions of its two ends at the sides of boxes.
struct Ports {
    of: Vec<[usize; 2]>,
    /// The number of ends at the fuller side of each node.
    counts: Vec<usize>,
}

impl Ports {
    fn new(diagram: &Diagram, passages: &[Option<Passage>], cells: &[Cell]) -> Self {
        let mut of = vec![[0; 2]; passages.len()];
        let mut counts = vec![0; diagram.nodes.len()];
        for (node, count) in counts.iter_mut().enumerate() {
            for side in [true, false] {
                let ends = passages.iter().enumerate().filter_map(|(edge, passage)| Some((edge, passage.as_ref()?)));
                let ends = ends.flat_map(|(edge, passage)| {
                    [(edge, 0, passage.from, passage.to.node), (edge, 1, passage.to, passage.from.node)]
                });
                let mut ends: Vec<_> = ends.filter(|(_, _, end, _)| end.node == node && end.right == side).collect();
                // Edges that go up are above edges that go down, so that fewer edges cross.
                ends.sort_by_key(|&(edge, _, _, other)| (cells[other].row, edge));
                *count = ends.len().max(*count);
                ends.iter().enumerate().for_each(|(port, &(edge, which, ..))| of[edge][which] = port);
            }
        }
        Self { of, counts }
    }

    fn height(&self, diagram: &Diagram, cells: &[Cell], row: usize) -> f64 {
        let nodes = (0..cells.len()).filter(|&node| cells[node].row == row);
        let height = |node: usize| {
            let text = lines(diagram, node).len() as f64 * LINE + 8.0;
            text.max((self.counts[node] as f64 + 0.5) * PORT + 6.0)
        };
        nodes.map(height).fold(0.0, f64::max)
    }
}

/// For each edge its lanes. Lanes of overlapping edges differ.
struct Lanes {
    of: Vec<[usize; 2]>,
    /// The number of lanes of each gutter, or of each gap between rows.
    counts: Vec<usize>,
}

impl Lanes {
    fn vertical(passages: &[Option<Passage>], cells: &[Cell], columns: usize) -> Self {
        let runs = passages.iter().enumerate().filter_map(|(edge, passage)| Some((edge, passage.as_ref()?)));
        let runs = runs.flat_map(|(edge, passage)| {
            let (from, to) = (2 * cells[passage.from.node].row + 1, 2 * cells[passage.to.node].row + 1);
            match passage.lane {
                None => vec![(edge, 0, passage.gutters[0], from, to)],
                Some(lane) => {
                    vec![(edge, 0, passage.gutters[0], from, 2 * lane), (edge, 1, passage.gutters[1], 2 * lane, to)]
                }
            }
        });
        let mut lanes = Self::assign(runs.collect(), passages.len(), columns + 1);
        for (passage, of) in passages.iter().zip(&mut lanes.of) {
            if passage.as_ref().is_some_and(|passage| passage.lane.is_none()) {
                of[1] = of[0];
            }
        }
        lanes
    }

    fn horizontal(passages: &[Option<Passage>], rows: usize) -> Self {
        let run = |(edge, passage): (usize, &Option<Passage>)| {
            let passage = passage.as_ref()?;
            Some((edge, 0, passage.lane?, passage.gutters[0], passage.gutters[1]))
        };
        Self::assign(passages.iter().enumerate().filter_map(run).collect(), passages.len(), rows + 1)
    }

    /// A run consists of an edge, the index of the lane among the edge's two, a channel, a start and an end. Short runs
    /// come first.
    fn assign(mut runs: Vec<(usize, usize, usize, usize, usize)>, edges: usize, channels: usize) -> Self {
        runs.sort_by_key(|&(edge, which, _, a, b)| (a.abs_diff(b), edge, which));
        let mut of = vec![[0; 2]; edges];
        let mut taken: Vec<Vec<Vec<(usize, usize)>>> = vec![Vec::new(); channels];
        for (edge, which, channel, a, b) in runs {
            let (low, high) = (a.min(b), a.max(b));
            let lanes = &mut taken[channel];
            let free = |lane: &Vec<(usize, usize)>| lane.iter().all(|&(from, to)| high < from || to < low);
            let lane = lanes.iter().position(free).unwrap_or_else(|| {
                lanes.push(Vec::new());
                lanes.len() - 1
            });
            lanes[lane].push((low, high));
            of[edge][which] = lane;
        }
        Self { of, counts: taken.iter().map(Vec::len).collect() }
    }
}

/// The space next to a column, for the names of edges that leave there; `right` is the column's right side.
fn stub(diagram: &Diagram, passages: &[Option<Passage>], gutter: usize, right: bool) -> f64 {
    let leaving = diagram.edges.iter().zip(passages).filter(|(_, passage)| {
        passage.as_ref().is_some_and(|passage| passage.gutters[0] == gutter && passage.from.right == right)
    });
    let names = leaving.map(|(edge, _)| edge.relation.name.len() as f64 * SMALL_CHARACTER + 8.0);
    names.fold(STUB, f64::max)
}

fn lines(diagram: &Diagram, node: usize) -> Vec<String> {
    let node = &diagram.nodes[node];
    let first = if node.thread.is_some() { format!("{}: {}", node.name, node.instruction) } else { node.name.clone() };
    let mut lines = match (node.thread, node.effect.is_empty()) {
        (None, _) => vec![format!("{first}: {}", node.effect)],
        (_, true) => vec![first],
        (_, false) => vec![first, node.effect.clone()],
    };
    lines.extend(node.source_in_picture());
    lines
}

fn width(diagram: &Diagram, node: usize) -> f64 {
    let longest = lines(diagram, node).iter().map(|line| line.chars().count()).max().unwrap_or(0);
    longest as f64 * CHARACTER + 16.0
}

fn column_width(diagram: &Diagram, cells: &[Cell], column: usize) -> f64 {
    let nodes = (0..cells.len()).filter(|&node| cells[node].column == column);
    nodes.map(|node| width(diagram, node)).fold(80.0, f64::max)
}

fn marker(relation: &Relations) -> String {
    format!(
        "<marker id=\"{}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L8 4 L0 8 z\" fill=\"{}\"/></marker>\n",
        id(relation),
        relation.color
    )
}

fn id(relation: &Relations) -> String {
    relation.name.replace(' ', "-")
}

fn polyline(route: &Route) -> String {
    let points: Vec<String> = route.points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    format!("<polyline points=\"{}\" fill=\"none\" stroke-linejoin=\"round\"", points.join(" "))
}

fn highlight(body: &mut String, route: &Route) {
    *body += &format!("{} stroke=\"{HIGHLIGHT}\" stroke-width=\"7\"/>\n", polyline(route));
}

fn line(body: &mut String, edge: &Edge, route: &Route) {
    *body += &format!(
        "{} stroke=\"{}\" stroke-width=\"{}\" marker-end=\"url(#{})\"/>\n",
        polyline(route),
        edge.relation.color,
        if edge.in_cycle { 2.2 } else { 1.2 },
        id(edge.relation)
    );
}

fn name(body: &mut String, edge: &Edge, route: &Route) {
    let Some((x, y, ends)) = route.name else { return };
    let anchor = if ends { "end" } else { "start" };
    let weight = if edge.in_cycle { "bold" } else { "normal" };
    let Relations { name, color, .. } = edge.relation;
    *body += &format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"10\" font-weight=\"{weight}\" text-anchor=\"{anchor}\" \
         fill=\"{color}\">{name}</text>\n"
    );
}

/// A sentence, broken into lines between words.
fn wrapped(text: &str) -> Vec<String> {
    text.split_whitespace().fold(Vec::new(), |mut lines: Vec<String>, word| {
        match lines.last_mut() {
            Some(line) if line.chars().count() + word.chars().count() < SENTENCE => line.extend([" ", word]),
            _ => lines.push(word.to_owned()),
        }
        lines
    })
}

/// Text between tags. XML has no control characters.
fn escaped(text: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        c if c.is_control() => " ".to_owned(),
        c => c.to_string(),
    };
    text.chars().map(escape).collect()
}

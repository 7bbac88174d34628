//! The drawing as a graph for Graphviz.

use crate::report::diagram::{Diagram, LEVELS, Relations};

/// The drawing in the language of Graphviz.
pub fn dot(diagram: &Diagram) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&diagram.name));
    text += &format!("  label={};\n  labelloc=t;\n", quoted(&format!("{}\n{}", diagram.name, diagram.caption)));
    text += "  fontname=Courier;\n  node [shape=box, fontname=Courier];\n  edge [fontname=Courier];\n";
    let initial: Vec<usize> = (0..diagram.nodes.len()).filter(|&node| diagram.nodes[node].thread.is_none()).collect();
    initial.iter().for_each(|&index| text += &format!("  {}\n", node(diagram, index)));
    text += &places(diagram);
    // Initial writes are above all threads.
    let first = |thread| diagram.nodes.iter().find(|node| node.thread == Some(thread));
    for first in (0..diagram.threads.len()).filter_map(first) {
        initial.iter().for_each(|&index| text += &invisible(&diagram.nodes[index].name, &first.name));
    }
    for edge in &diagram.edges {
        let color = quoted(edge.relation.color);
        let label = if edge.relation.name == "po" && !edge.in_cycle { "" } else { edge.relation.name };
        let mut attributes = format!("color={color}, fontcolor={color}, label={}", quoted(label));
        if edge.in_cycle {
            attributes += ", penwidth=3";
        }
        // Only edges of program order place instructions below each other.
        attributes += match diagram.nodes[edge.from].thread {
            _ if diagram.adjacent(edge.from, edge.to) => ", weight=9",
            Some(_) => ", constraint=false",
            None => "",
        };
        let [from, to] = [edge.from, edge.to].map(|node| quoted(&diagram.nodes[node].name));
        text += &format!("  {from} -> {to} [{attributes}];\n");
    }
    text + &legend(diagram) + "}\n"
}

/// The names of the relations, one per line.
fn legend(diagram: &Diagram) -> String {
    let mut text = "  subgraph cluster_legend { label=\"\";\n".to_owned();
    for Relations { name, color, words } in diagram.legend() {
        let (color, label) = (quoted(color), quoted(&format!("{name}: {words}")));
        text += &format!("    {} [shape=plaintext, fontcolor={color}, label={label}];\n", quoted(name));
    }
    diagram.legend().zip(diagram.legend().skip(1)).for_each(|(a, b)| text += &invisible(a.name, b.name));
    text + "  }\n"
}

fn invisible(from: &str, to: &str) -> String {
    format!("  {} -> {} [style=invis];\n", quoted(from), quoted(to))
}

/// Clusters within clusters: GPUs, clusters of CTAs, CTAs, threads.
fn places(diagram: &Diagram) -> String {
    let path = |thread: usize| {
        let place = diagram.threads[thread].place;
        let groups = LEVELS.iter().filter_map(|level| (level.of)(&place));
        groups.chain([diagram.threads[thread].name.clone()]).collect::<Vec<_>>()
    };
    let (mut text, mut open, mut count) = (String::new(), Vec::<String>::new(), 0);
    for thread in 0..diagram.threads.len() {
        let path = path(thread);
        let common = open.iter().zip(&path).take_while(|(a, b)| a == b).count();
        close(&mut text, &mut open, common);
        for group in &path[common..] {
            text += &format!("{}subgraph cluster_{count} {{ label={};\n", indent(&open), quoted(group));
            open.push(group.clone());
            count += 1;
        }
        let nodes = (0..diagram.nodes.len()).filter(|&node| diagram.nodes[node].thread == Some(thread));
        nodes.for_each(|index| text += &format!("{}{}\n", indent(&open), node(diagram, index)));
    }
    close(&mut text, &mut open, 0);
    text
}

fn close(text: &mut String, open: &mut Vec<String>, common: usize) {
    while open.len() > common {
        open.pop();
        *text += &format!("{}}}\n", indent(open));
    }
}

fn indent(open: &[String]) -> String {
    "  ".repeat(open.len() + 1)
}

fn node(diagram: &Diagram, index: usize) -> String {
    let node = &diagram.nodes[index];
    let border = if diagram.in_cycle(index) { ", color=\"#cf222e\", penwidth=3" } else { "" };
    let first = format!("{}: {}", node.name, node.instruction);
    let lines = [Some(first), Some(node.effect.clone()), node.source_in_picture()];
    let border = if node.later { format!("{border}, style=dashed") } else { border.to_owned() };
    let lines: Vec<String> = lines.into_iter().flatten().filter(|line| !line.is_empty()).collect();
    // A letter may be a keyword of the language.
    format!("{} [label={}{border}];", quoted(&node.name), quoted(&lines.join("\n")))
}

/// A string in the language of Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

//! The picture as a graph for graphviz.

use super::diagram::{Diagram, LEVELS};

pub fn dot(diagram: &Diagram) -> String {
    let mut text = format!("digraph {} {{\n", quoted(&diagram.name));
    text += &format!("  label={};\n  labelloc=t;\n", quoted(&format!("{}\n{}", diagram.name, diagram.caption)));
    text += "  fontname=monospace;\n  node [shape=box, fontname=monospace];\n  edge [fontname=monospace];\n";
    let initial = (0..diagram.nodes.len()).filter(|&node| diagram.nodes[node].thread.is_none());
    text += &format!("  {{ rank=min; {} }}\n", initial.map(|index| node(diagram, index)).collect::<Vec<_>>().join(" "));
    text += &places(diagram);
    for edge in &diagram.edges {
        let color = quoted(edge.relation.color);
        let label = if edge.relation.name == "po" && !edge.in_cycle { "" } else { edge.relation.name };
        let mut attributes = format!("color={color}, fontcolor={color}, label={}", quoted(label));
        if edge.in_cycle {
            attributes += ", penwidth=3";
        }
        // Only program order puts instructions below each other.
        if !diagram.adjacent(edge.from, edge.to) && diagram.nodes[edge.from].thread.is_some() {
            attributes += ", constraint=false";
        }
        let [from, to] = [edge.from, edge.to].map(|node| quoted(&diagram.nodes[node].name));
        text += &format!("  {from} -> {to} [{attributes}];\n");
    }
    let legend =
        diagram.legend().map(|relation| format!("{}: {}\\l", relation.name, relation.words)).collect::<String>();
    text += &format!("  legend [shape=note, label=\"{legend}\"];\n");
    text + "}\n"
}

/// Clusters within clusters: GPUs, clusters of CTAs, CTAs, threads.
fn places(diagram: &Diagram) -> String {
    let path = |thread: usize| {
        let place = diagram.threads[thread].place;
        let groups = LEVELS.iter().filter_map(|level| Some(format!("{} {}", level.name, (level.of)(&place)?)));
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
    let text = format!("{}: {}\n{}", node.name, node.instruction, node.effect);
    // A letter may be a word of the language.
    format!("{} [label={}{border}];", quoted(&node.name), quoted(text.trim_end()))
}

/// A string of graphviz's language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

//! Graphs: captured or built work that a program launches again.

use crate::{
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Executable, Graph, Node, Work},
};

impl Gpu {
    /// Adds a node to a graph.
    pub fn add_node(&mut self, graph: Handle<Graph>, work: Work, after: Vec<Handle<Node>>) -> Done<Handle<Node>> {
        self.graphs.get(graph)?;
        let node = self.nodes.insert(Node { work, after, graph, original: Handle::NULL });
        self.graphs.get_mut(graph)?.nodes.push(node);
        Ok(node)
    }

    /// The nodes of a graph in an order that their dependencies allow.
    pub fn sorted(&self, graph: Handle<Graph>) -> Done<Vec<Handle<Node>>> {
        let mut rest = self.graphs.get(graph)?.nodes.clone();
        let mut sorted: Vec<Handle<Node>> = Vec::new();
        while !rest.is_empty() {
            let is_ready = |node: &Handle<Node>| {
                self.nodes.get(*node).is_ok_and(|node| !node.after.iter().any(|a| rest.contains(a)))
            };
            let next = rest.iter().position(is_ready).ok_or(Error::InvalidValue)?;
            sorted.push(rest.remove(next));
        }
        Ok(sorted)
    }

    /// Makes a graph ready to run.
    pub fn instantiate(&mut self, graph: Handle<Graph>) -> Done<Handle<Executable>> {
        let sorted = self.sorted(graph)?;
        let with_work = |node: Handle<Node>| Ok((node, self.nodes.get(node)?.work.clone(), true));
        let nodes = sorted.into_iter().map(with_work).collect::<Done<_>>()?;
        Ok(self.executables.insert(Executable { nodes }))
    }

    /// Copies a graph with its nodes.
    pub fn clone_graph(&mut self, graph: Handle<Graph>) -> Done<Handle<Graph>> {
        let clone = self.graphs.insert(Graph::default());
        let mut pairs: Vec<(Handle<Node>, Handle<Node>)> = Vec::new();
        for original in self.sorted(graph)? {
            let node = self.nodes.get(original)?.clone();
            let mapped = |old: &Handle<Node>| pairs.iter().find(|(from, _)| from == old).map(|(_, to)| *to);
            let after = node.after.iter().filter_map(mapped).collect();
            let copy = self.add_node(clone, node.work, after)?;
            self.nodes.get_mut(copy)?.original = original;
            pairs.push((original, copy));
        }
        Ok(clone)
    }

    /// Takes the work of a graph into an executable that has the same nodes. Whether that was possible.
    pub fn update(&mut self, executable: Handle<Executable>, graph: Handle<Graph>) -> Done<bool> {
        let sorted = self.sorted(graph)?;
        let works =
            sorted.into_iter().map(|node| Ok(self.nodes.get(node)?.work.clone())).collect::<Done<Vec<Work>>>()?;
        let executable = self.executables.get_mut(executable)?;
        let is_same = works.len() == executable.nodes.len()
            && works
                .iter()
                .zip(&executable.nodes)
                .all(|(new, (_, old, _))| std::mem::discriminant(new) == std::mem::discriminant(old));
        if is_same {
            executable.nodes.iter_mut().zip(works).for_each(|((_, work, _), new)| *work = new);
        }
        Ok(is_same)
    }

    /// Destroys a graph with its nodes.
    pub fn destroy_graph(&mut self, graph: Handle<Graph>) -> Done {
        self.graphs.remove(graph)?;
        self.nodes.retain(|node| node.graph != graph);
        Ok(())
    }
}

//! Graphs: captured or built work that a program launches again.

use crate::{
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Executable, Graph, Node, Step, Work},
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

    /// The nodes of a graph with their steps, in an order that their dependencies allow.
    pub fn steps(&self, graph: Handle<Graph>) -> Done<Vec<(Handle<Node>, Step)>> {
        let sorted = self.sorted(graph)?;
        let step = |node: &Handle<Node>| {
            let Node { work, after, .. } = self.nodes.get(*node)?;
            let after = after.iter().filter_map(|before| sorted.iter().position(|other| other == before)).collect();
            Ok((*node, Step { work: work.clone(), after }))
        };
        sorted.iter().map(step).collect()
    }

    /// Makes a graph ready to run.
    pub fn instantiate(&mut self, graph: Handle<Graph>) -> Done<Handle<Executable>> {
        let nodes = self.steps(graph)?.into_iter().map(|(node, step)| (node, step, true)).collect();
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
        let steps = self.steps(graph)?;
        let executable = self.executables.get_mut(executable)?;
        let kind = |step: &Step| std::mem::discriminant(&step.work);
        let is_same = steps.len() == executable.nodes.len()
            && steps.iter().zip(&executable.nodes).all(|((_, new), (_, old, _))| kind(new) == kind(old));
        if is_same {
            executable.nodes.iter_mut().zip(steps).for_each(|((_, step, _), (_, new))| *step = new);
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

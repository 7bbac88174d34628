//! Streams and events, and the work that a program submits.

use std::time::Instant;

use ptx_execute::Use;

use crate::{
    call,
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    objects::{Capture, Copy, Event, Executable, Graph, Step, Stream, Work},
    order::{Order, Queue},
    races::footprint_of_fill,
    report::Operation,
};

/// Submits work to a stream: it runs, or the capture of the stream gets it.
pub fn submit(stream: Handle<Stream>, work: Work) -> Done {
    let is_captured = call::with(|gpu| {
        let is_captured = gpu.streams.get(stream)?.capture.is_some();
        if is_captured {
            gpu.capture(stream, work.clone())?;
        }
        Ok(is_captured)
    })?;
    if is_captured { Ok(()) } else { perform(stream, work) }
}

/// Copies in a stream. Without a stream, the program waits for the copy, except for one within the device.
pub fn copy(stream: Option<Handle<Stream>>, copy: Copy) -> Done {
    submit(stream.unwrap_or(Stream::NULL), Work::Copy(copy))?;
    call::with(|gpu| {
        if stream.is_none() {
            gpu.flush();
            if !gpu.is_within_device(&copy) {
                gpu.wait_for(Stream::NULL);
            }
        }
        Ok(())
    })
}

/// Performs work, without the lock where the program's own functions run.
pub fn perform(stream: Handle<Stream>, work: Work) -> Done {
    match work {
        Work::Host(function) => {
            // The function may tell other functions of the program that the earlier work has ended.
            call::with(|gpu| {
                gpu.wait_for(stream);
                Ok(())
            })?;
            function.call();
        }
        Work::Graph(steps) => return perform_graph(stream, steps),
        work => return call::with(|gpu| gpu.perform(stream, work)),
    }
    Ok(())
}

/// Performs the steps of a graph.
fn perform_graph(stream: Handle<Stream>, steps: Vec<Step>) -> Done {
    let order = |change: &dyn Fn(&mut Order, Queue)| {
        call::with(|gpu| {
            let queue = gpu.queue(stream);
            change(&mut gpu.order, queue);
            Ok(())
        })
    };
    order(&Order::fork)?;
    let done = steps.into_iter().try_for_each(|Step { work, after }| {
        order(&|orders, queue| orders.step(queue, &after))?;
        perform(stream, work)
    });
    order(&Order::join)?;
    done
}

/// Launches a graph.
pub fn launch_graph(stream: Handle<Stream>, executable: Handle<Executable>) -> Done {
    let steps = call::with(|gpu| Ok(gpu.executables.get(executable)?.steps()))?;
    submit(stream, Work::Graph(steps))
}

impl Gpu {
    fn perform(&mut self, stream: Handle<Stream>, work: Work) -> Done {
        match work {
            Work::Launch(launch) => self.launch(stream, &launch),
            Work::Copy(copy) => {
                // Only an operation that succeeds has valid addresses, and so a footprint.
                self.copy(&copy)?;
                let (footprint, waits) = self.footprint_of_copy(&copy)?;
                self.order(stream, Operation::Copy, footprint);
                if waits {
                    self.wait_for(stream);
                }
                Ok(())
            }
            Work::Fill(fill) => {
                self.fill(&fill)?;
                self.order(stream, Operation::Fill, footprint_of_fill(&fill));
                Ok(())
            }
            Work::Free(address) => {
                let bytes = self.memory.find(address).map_or(0, |(_, found)| found.bytes);
                self.free(address)?;
                self.order(stream, Operation::Free, [(address..address + bytes, Use::Write)].into_iter().collect());
                Ok(())
            }
            Work::Record(event) => {
                self.order.record(self.queue(stream), event);
                self.events.get_mut(event)?.recorded = Some(Instant::now());
                Ok(())
            }
            Work::Host(_) | Work::Graph(_) | Work::Nothing => Ok(()),
        }
    }

    /// Adds work to the graph of a stream's capture.
    fn capture(&mut self, stream: Handle<Stream>, work: Work) -> Done {
        let capture = self.streams.get(stream)?.capture.clone().ok_or(Error::Unknown)?;
        if let Work::Record(event) = work {
            self.events.get_mut(event)?.captured = Some((capture.graph, capture.last));
            return Ok(());
        }
        let node = self.add_node(capture.graph, work, capture.last)?;
        if let Some(capture) = &mut self.streams.get_mut(stream)?.capture {
            capture.last = vec![node];
        }
        Ok(())
    }

    /// Lets a stream wait for an event. An event of a capture takes the stream into the capture.
    pub fn wait_event(&mut self, stream: Handle<Stream>, event: Handle<Event>) -> Done {
        let captured = self.events.get(event)?.captured.clone();
        self.streams.get(stream)?;
        let Some((graph, nodes)) = captured else {
            self.order.follow_event(self.queue(stream), event);
            return Ok(());
        };
        let stream = self.streams.get_mut(stream)?;
        match &mut stream.capture {
            Some(capture) if capture.graph == graph => capture.last.extend(nodes),
            Some(_) => return Err(Error::CaptureInvalid),
            None => stream.capture = Some(Capture { graph, last: nodes, is_origin: false }),
        }
        Ok(())
    }

    /// Begins the capture of a stream.
    pub fn begin_capture(&mut self, stream: Handle<Stream>, graph: Option<Handle<Graph>>) -> Done {
        if self.streams.get(stream)?.capture.is_some() || stream.is_null() {
            return Err(Error::InvalidValue);
        }
        let graph = graph.unwrap_or_else(|| self.graphs.insert(Graph::default()));
        self.streams.get_mut(stream)?.capture = Some(Capture { graph, last: Vec::new(), is_origin: true });
        Ok(())
    }

    /// Ends the capture of a stream, and of the streams that joined it.
    pub fn end_capture(&mut self, stream: Handle<Stream>) -> Done<Handle<Graph>> {
        let capture = self.streams.get(stream)?.capture.clone().ok_or(Error::CaptureInvalid)?;
        if !capture.is_origin {
            return Err(Error::CaptureUnmatched);
        }
        let is_own = |other: &Option<Capture>| other.as_ref().is_some_and(|other| other.graph == capture.graph);
        self.streams.values_mut().filter(|stream| is_own(&stream.capture)).for_each(|stream| stream.capture = None);
        for event in self.events.values_mut() {
            event.captured.take_if(|(graph, _)| *graph == capture.graph);
        }
        Ok(capture.graph)
    }

    /// Checks that a program may ask for an event: no capture has it.
    pub fn recorded(&self, event: Handle<Event>) -> Done {
        if self.events.get(event)?.captured.is_some() { Err(Error::CapturedEvent) } else { Ok(()) }
    }

    /// The milliseconds between two events.
    pub fn elapsed(&mut self, start: Handle<Event>, end: Handle<Event>) -> Done<f32> {
        [start, end].into_iter().for_each(|event| self.order.wait_for_event(event));
        let time = |event: Handle<Event>| {
            let event = self.events.get(event)?;
            let recorded = event.recorded.filter(|_| event.flags & Event::WITHOUT_TIME == 0);
            recorded.ok_or(Error::InvalidHandle)
        };
        let (start, end) = (time(start)?, time(end)?);
        let (span, sign) = if end >= start { (end - start, 1.0) } else { (start - end, -1.0) };
        Ok(sign * span.as_secs_f32() * 1000.0)
    }
}

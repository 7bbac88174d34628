// Runs the lowering and the memory model, so that no page waits for them.
import init, * as functions from "./ptx_atomics_page.js";

const ready = init().catch((error) => {
  throw new Error(`the library of this page cannot be loaded: ${error.message}`);
});

self.onmessage = async ({ data: { id, name, args } }) => {
  try {
    await ready;
    self.postMessage({ id, value: functions[name](...args) });
  } catch (error) {
    // What is left of the library after a failure is not used again.
    self.postMessage({ failed: error.message });
  }
};

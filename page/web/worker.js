// Runs the lowering and the memory model, so that no page waits for them.
import init, * as functions from "./ptx_atomics_page.js";

const ready = init();

self.onmessage = async ({ data: { id, name, args } }) => {
  try {
    await ready;
    self.postMessage({ id, value: functions[name](...args) });
  } catch (error) {
    self.postMessage({ id, error: String(error) });
  }
};

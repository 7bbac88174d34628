// Runs the lowering, the memory model or the check in a worker, so that no page blocks.
// The worker has the name of its library.
const ready = import(`./${self.name}.js`)
  .then(async (library) => {
    await library.default();
    return library;
  })
  .catch((error) => {
    throw new Error(`the library of this page cannot be loaded: ${error.message}`);
  });

self.onmessage = async ({ data: { id, name, args } }) => {
  try {
    const library = await ready;
    self.postMessage({ id, value: library[name](...args) });
  } catch (error) {
    // After a failure, the library is not used again.
    self.postMessage({ failed: error.message });
  }
};

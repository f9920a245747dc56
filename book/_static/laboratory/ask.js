"use strict";

// Ask the engine. A Worker has it, so that the page moves while it computes. A page that is a file may
// not start a Worker: there the page itself has the engine.

const OWN = new URL(".", document.currentScript.src);

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${address} could not be loaded.`));
    script.async = false; // each after those that it uses
    script.src = address;
    document.head.append(script);
  });
}

// A new engine: a function to ask it with, which promises the answer, and tells meanwhile how far it is.
function newEngine() {
  const address = new URL("engine.js", OWN);
  if (location.protocol === "file:") {
    const made = loadScript(address).then(() => new Engine());
    return async (what, asked, told) => (await made).answer(what, structuredClone(asked), told);
  }
  const worker = new Worker(address);
  const waiting = new Map(); // who waits for an answer, by its number
  worker.onmessage = ({ data: { number, far, answer, problem } }) => {
    if (far) { // also of a file that is still coming when another has failed
      waiting.get(number)?.told?.(far);
      return;
    }
    const { resolve, reject } = waiting.get(number);
    waiting.delete(number);
    if (problem) reject(new Error(problem));
    else resolve(answer);
  };
  worker.onerror = () => {
    waiting.forEach(({ reject }) => reject(new Error(`${address} could not be loaded.`)));
  };
  let count = 0;
  return (what, asked, told) => new Promise((resolve, reject) => {
    waiting.set(++count, { resolve, reject, told });
    worker.postMessage({ number: count, what, asked });
  });
}

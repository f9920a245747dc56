"use strict";

// Where models come from: a script of this site, a folder of this site, or the reader's own files.

// A small model is a script, so that it also loads if the page is a file, which cannot fetch others.
// The script registers itself here.
const EMBEDDED = (globalThis.EMBEDDED ??= {});

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer;
}

async function openEmbedded(name) {
  const address = new URL(`models/${name}.js`, HERE);
  if (!EMBEDDED[name]) await load(address).catch(() => { throw notLoaded(address); });
  const { description, weights } = EMBEDDED[name];
  return openModel(description, bytesOf(weights));
}

function notLoaded(address, why = "") {
  return new Error(`${address} could not be loaded.${why}`);
}

async function fetched(address, read) {
  const response = await fetch(address).catch(() => null);
  const why = location.protocol === "file:" ? " A page that is a file may not load others." : "";
  if (!response?.ok) throw notLoaded(address, why);
  return response[read]();
}

// A folder that `annotated-transformer export RUN FOLDER --to web` wrote, on the page's own server.
async function openFolder(address) {
  const folder = new URL(`${address}/`.replace(/\/+$/, "/"));
  if (folder.origin !== location.origin) {
    throw new Error(`${folder.href} is on another server; a model must come from this one.`);
  }
  const [description, weights] = await Promise.all([
    fetched(new URL("model.json", folder), "text"),
    fetched(new URL("model.safetensors", folder), "arrayBuffer"),
  ]);
  return openText(description, weights);
}

// The same two files, chosen or dropped by the reader.
async function openFiles(files) {
  const [description, weights] = ["model.json", "model.safetensors"].map((name) => {
    const found = [...files].find((file) => file.name === name);
    if (!found) throw new Error(`There is no ${name} among these ${files.length} files.`);
    return found;
  });
  return openText(await description.text(), await weights.arrayBuffer());
}

function openText(text, weights) {
  let description;
  try {
    description = JSON.parse(text);
  } catch {
    throw new Error("The file model.json is damaged or incomplete: export the model again.");
  }
  return openModel(description, weights);
}

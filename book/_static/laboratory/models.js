"use strict";

// Where models come from: a script of this site, a folder of this site, or the reader's own files.

const OWN = new URL(".", document.currentScript.src);

// A small model is a script, so that it also loads if the page is a file, which cannot fetch others.
// The script registers itself here.
const EMBEDDED = (globalThis.EMBEDDED ??= {});

function loadScript(address) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${address} could not be loaded.`));
    script.src = address;
    document.head.append(script);
  });
}

function bytesOf(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0)).buffer;
}

async function openEmbedded(name) {
  if (!EMBEDDED[name]) await loadScript(new URL(`models/${name}.js`, OWN));
  const { description, weights } = EMBEDDED[name];
  return openModel(description, bytesOf(weights));
}

async function fetched(address, read) {
  const response = await fetch(address).catch(() => null);
  if (!response?.ok) {
    const why = location.protocol === "file:" ? " A page that is a file may not load others." : "";
    throw new Error(`${address} could not be loaded.${why}`);
  }
  return response[read]();
}

// A folder that `annotated-transformer export RUN FOLDER --to web` wrote, on the page's own server.
async function openFolder(address) {
  const folder = new URL(`${address}/`.replace(/\/+$/, "/"), location);
  if (folder.origin !== location.origin) {
    throw new Error(`${folder.href} is on another server; a model must come from this one.`);
  }
  const [description, weights] = await Promise.all([
    fetched(new URL("model.json", folder), "json"),
    fetched(new URL("model.safetensors", folder), "arrayBuffer"),
  ]);
  return openModel(description, weights);
}

// The same two files, chosen or dropped by the reader.
async function openFiles(files) {
  const [description, weights] = ["model.json", "model.safetensors"].map((name) => {
    const found = [...files].find((file) => file.name === name);
    if (!found) throw new Error(`There is no ${name} among these ${files.length} files.`);
    return found;
  });
  const text = await description.text();
  let read;
  try {
    read = JSON.parse(text);
  } catch {
    throw new Error("The file model.json is damaged or incomplete: export the model again.");
  }
  return openModel(read, await weights.arrayBuffer());
}

// The dropped files, including those in folders.
async function droppedFiles(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  const files = [];
  for (const entry of entries) {
    const inside = entry.isDirectory
      ? await new Promise((resolve, reject) => entry.createReader().readEntries(resolve, reject))
      : [entry];
    for (const each of inside.filter((one) => one.isFile)) {
      files.push(await new Promise((resolve, reject) => each.file(resolve, reject)));
    }
  }
  return files;
}

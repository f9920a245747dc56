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
  requireThat(EMBEDDED[name], `${address} is damaged or incomplete.`);
  scripts.push(address.href);
  const { description, weights } = EMBEDDED[name];
  return openModel(description, bytesOf(weights));
}

function notLoaded(address, why = "") {
  return new Error(`${String(address).split("?")[0]} could not be loaded.${why}`);
}

// The bytes of a file; `told` hears of every piece how long it is.
async function fetched(address, told, options) {
  const why = location.protocol === "file:" ? " A page that is a file may not load others." : "";
  const counter = new TransformStream({ transform(piece, stream) {
    told(piece.length);
    stream.enqueue(piece);
  } });
  try {
    const { ok, body } = await fetch(address, options);
    if (ok) return await new Response(body.pipeThrough(counter)).arrayBuffer();
  } catch (error) {
    if (error instanceof RangeError) throw error; // there is no memory
  }
  throw notLoaded(address, why);
}

// The same of a file of this site, whose digest is known. The browser keeps it, and what it has kept is
// not fetched again. (It may keep nothing: without https, or as its owner wishes.)
async function fetchedOnce(address, digest, told) {
  const cache = await globalThis.caches?.open("models of the laboratory").catch(() => null);
  const version = `${address}?${digest.slice(0, 16)}`;
  const kept = await cache?.match(version);
  const bytes = kept ? await kept.arrayBuffer()
    : await fetched(version, told, { cache: cache ? "no-store" : "default" });
  const found = await globalThis.crypto.subtle?.digest("SHA-256", bytes);
  const isWhole = !found || digest === hexadecimal(found);
  if (cache && !(kept && isWhole)) {
    await cache.delete(address, { ignoreSearch: true }); // also that of an older site
    if (isWhole) await cache.put(version, new Response(bytes)).catch(() => {}); // without room, it is not kept
  }
  requireThat(isWhole, `${address} is damaged or incomplete.`);
  return bytes;
}

function hexadecimal(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// A folder that `annotated-transformer export RUN FOLDER --to web` wrote, on the page's own server;
// `told` hears how many bytes have come. With digests, by the names of the files, it is one of this site.
async function openFolder(address, digests, told = () => {}) {
  const folder = new URL(`${address}/`.replace(/\/+$/, "/"));
  if (folder.origin !== location.origin) {
    throw new Error(`${folder.href} is on another server; a model must come from this one.`);
  }
  let far = 0;
  const hear = (length) => told(far += length);
  const [description, weights] = await Promise.all(["model.json", "model.safetensors"].map((name) => {
    const file = new URL(name, folder).href;
    return digests ? fetchedOnce(file, digests[name], hear) : fetched(file, hear);
  }));
  return openText(new TextDecoder().decode(description), weights);
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

"use strict";

// Keep the laboratory, so that it opens without a network. This script is copied to the root of the site,
// because it sees only what is below it. The network comes first: what was kept is shown only where it
// fails, so that no page has the scripts of an older site. Whoever asks with "no-store" keeps it himself,
// as the engine does with large models (models.js).

const KEPT = "the laboratory";
const OURS = /\/(laboratory(\.html)?$|_static\/)/; // in every language
const UNVERSIONED = "/_static/laboratory/"; // addresses that stay the same when the site is built again

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { origin, pathname } = new URL(event.request.url);
  const { method, cache } = event.request;
  if (method !== "GET" || cache === "no-store" || origin !== location.origin || !OURS.test(pathname)) return;
  event.respondWith(networkFirst(event, pathname));
});

// Each file is kept once, whatever follows "?" in its address.
async function networkFirst(event, pathname) {
  const cache = await caches.open(KEPT);
  try {
    const asked = pathname.includes(UNVERSIONED) ? { cache: "no-cache" } : {};
    const response = await fetch(event.request, asked);
    if (response.status === 200) event.waitUntil(cache.put(pathname, response.clone()));
    return response;
  } catch (error) {
    const kept = await cache.match(pathname);
    if (!kept) throw error;
    return kept;
  }
}

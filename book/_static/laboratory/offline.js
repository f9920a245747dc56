"use strict";

// Let the page open without a network after its first visit. A service worker keeps what it sees come
// (service_worker.js); what came before it was there is fetched once more, from the browser's cache.

async function keepOffline(ask) {
  const { serviceWorker } = navigator; // which a page without https does not have
  if (!serviceWorker || location.protocol === "file:" || serviceWorker.controller) return;
  try {
    await serviceWorker.register(new URL("../../service_worker.js", OWN));
  } catch {
    return; // forbidden by the browser: the page needs the network
  }
  if (!serviceWorker.controller) {
    await new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve, { once: true });
    });
  }
  const came = performance.getEntriesByType("resource").map(({ name }) => name);
  const all = [location.href, ...came, ...await ask("scripts")];
  const own = [...new Set(all)].filter((address) => new URL(address).origin === location.origin);
  await Promise.all(own.map((address) => fetch(address).catch(() => null))); // what fails is not kept
}

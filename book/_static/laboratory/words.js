"use strict";

// What the laboratory says, in the language of its page: the catalogue of the site has the translations.

// A whole sentence; its placeholders in braces are filled after it is translated.
const localised = (sentence, values = {}) =>
  _(sentence).replace(/\{(\w+)\}/g, (placeholder, name) => values[name] ?? placeholder);

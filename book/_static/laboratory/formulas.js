"use strict";

// Formulas as MathML, which a browser sets without a library, from a short notation: parts between
// spaces, a^b, a_b, √a and a/b.

function mathOf(part) {
  const two = (tag, sign) => {
    const [first, ...rest] = part.split(sign);
    return `<${tag}>${mathOf(first)}${mathOf(rest.join(sign))}</${tag}>`;
  };
  if (/.\/./.test(part)) return two("mfrac", "/");
  if (part.startsWith("√")) return `<msqrt>${mathOf(part.slice(1))}</msqrt>`;
  if (part.includes("^")) return two("msup", "^");
  if (part.includes("_")) return two("msub", "_");
  if (/^[\d∞]+$/.test(part)) return `<mn>${part}</mn>`;
  return /^\p{L}+$/u.test(part) ? `<mi>${part}</mi>` : `<mo>${part}</mo>`;
}

function formula(text) {
  const math = document.createElementNS("http://www.w3.org/1998/Math/MathML", "math");
  math.innerHTML = `<mrow>${text.split(" ").map(mathOf).join("")}</mrow>`;
  return math;
}

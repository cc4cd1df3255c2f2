// Looks words up in the index of the site. A section is found if it has every word; the last letters of a word can be missing.
"use strict";

const limit = 40;

function wordsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((word) => word.length > 1);
}

// weightsOf returns how well each section fits one word. Rare words, whole words, words of a title, and short sections weigh more.
function weightsOf(word) {
  const weights = new Map();
  for (const [known, sections] of Object.entries(searchIndex.words)) {
    if (!known.startsWith(word)) continue;
    const rare = Math.log(1 + searchIndex.sections.length / sections.length) * (known === word ? 2 : 1);
    for (const number of sections) {
      const [, page, title] = searchIndex.sections[number];
      const titles = 3 * wordsOf(title).includes(known) + 2 * wordsOf(page).includes(known);
      const weight = rare * (titles + 1 / (1 + Math.log(1 + searchIndex.lengths[number] / 50)));
      weights.set(number, Math.max(weight, weights.get(number) || 0));
    }
  }
  return weights;
}

function find(query) {
  let found;
  for (const word of wordsOf(query)) {
    const weights = weightsOf(word);
    if (!found) { found = weights; continue; }
    found = new Map([...found].filter(([n]) => weights.has(n)).map(([n, weight]) => [n, weight + weights.get(n)]));
  }
  return [...(found || [])].sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([n]) => searchIndex.sections[n]);
}

function element(name, text, parent) {
  const made = parent.appendChild(document.createElement(name));
  made.textContent = text;
  return made;
}

function show(query) {
  const results = document.getElementById("results");
  const count = document.getElementById("count");
  const found = find(query);
  results.replaceChildren();
  document.getElementById("all").hidden = wordsOf(query).length > 0;
  count.textContent = wordsOf(query).length === 0 ? "" : found.length === 0 ? "No section has all of these words." :
    found.length > limit ? `The best ${limit} of ${found.length} sections` : found.length === 1 ? "1 section" : `${found.length} sections`;
  for (const [link, page, title, excerpt] of found.slice(0, limit)) {
    const item = element("li", "", results);
    element("a", title === page ? page : `${page}: ${title}`, item).href = link;
    element("p", excerpt, item);
  }
}

const box = document.getElementById("q");
box.value = new URLSearchParams(location.search).get("q") || "";
box.addEventListener("input", () => show(box.value));
show(box.value);
box.focus();

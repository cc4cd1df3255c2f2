// Looks words up in the index of the site. A section is found if it has every word; the last letters of a word can be missing, and a word
// that no section has stands for similar ones.
"use strict";

const limit = 40;

// What readers call things that have other names here.
const synonyms = [
  [/\bair[ -]?gap(ped)?\b/g, "air gapped"],
  [/\b(high[ -]availability|ha)\b/g, "several servers"],
  [/\bmulti[ -]?tenan(t|cy)\b/g, "workspaces"],
  [/\b(undo|revert)( an?)?( deployment| change)?\b|\brollbacks?\b/g, "roll back"],
  [/\b(sso|oidc|saml|login)\b/g, "single sign"],
  [/\bk8s\b/g, "kubernetes"],
  [/\bhelm charts?\b/g, "chart"],
  [/\b(canary|canaries|progressive delivery)\b/g, "rings"],
  [/\b(alerts?|alerting|observability)\b/g, "monitoring"],
  [/\b(back ?ups?|disaster recovery|restore)\b/g, "backup"],
  [/\b(rbac|permissions?)\b/g, "roles"],
  [/\b(slack|teams|e-?mails?) (messages?|notifications?)\b/g, "notifications"],
  [/\b(uninstall|remove) (an? )?(app|application)\b/g, "uninstall target"],
  [/\bupdate kalypso\b/g, "upgrade"],
];

// known are the words of the index.
const known = Object.keys(searchIndex.words);

// distance is how many letters differ, are missing, too many or swapped, up to most.
function distance(a, b, most) {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let before = [], row = [...Array(b.length + 1).keys()];
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + !same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[b.length];
}

// meant returns the known words that a word is the beginning of, or else those that it is a typing error of.
function meant(word) {
  const found = known.filter((other) => other.startsWith(word));
  if (found.length > 0 || word.length < 4) return found;
  const most = word.length < 7 ? 1 : 2;
  return known.filter((other) => distance(word, other, most) <= most);
}

// place is how much more a section weighs by where it is: guides first, what commands have in common last.
function place(link, title) {
  if (["SEE ALSO", "Options", "Examples", "What's next", "Before you begin"].includes(title)) return 0.2;
  const page = link.includes("#") ? 1 : 1.5;
  if (link.startsWith("docs/how-to/")) return 2 * page;
  return (link.startsWith("docs/cli/") || link.startsWith("docs/decisions/") ? 0.7 : 1) * page;
}

function wordsOf(text) {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) || []).filter((word) => word.length > 1);
}

// weightsOf returns how well each section fits one word. Rare words, whole words, words of a title, and short sections weigh more.
function weightsOf(word) {
  const weights = new Map();
  for (const other of meant(word)) {
    const sections = searchIndex.words[other];
    const rare = Math.log(1 + searchIndex.sections.length / sections.length) * (other === word ? 2 : 1);
    for (const number of sections) {
      const [link, page, title] = searchIndex.sections[number];
      const titles = 3 * wordsOf(title).includes(other) + 2 * wordsOf(page).includes(other);
      const weight = place(link, title) * rare * (titles + 1 / (1 + Math.log(1 + searchIndex.lengths[number] / 50)));
      weights.set(number, Math.max(weight, weights.get(number) || 0));
    }
  }
  return weights;
}

function find(query) {
  let found;
  query = synonyms.reduce((text, [other, name]) => text.replace(other, name), query.toLowerCase());
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

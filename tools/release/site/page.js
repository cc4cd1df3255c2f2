// Adds a button to each block that copies it, and opens the outline on wide screens. Pages are complete without it.
"use strict";

// commandsOf returns what to type: of a block with prompts, the commands without them and without what they print.
function commandsOf(text) {
  const lines = text.split("\n");
  if (!lines.some((line) => line.startsWith("$ "))) return text;
  const typed = [];
  let document = false;
  for (const line of lines) {
    if (document) { typed.push(line); document = line !== "EOF"; continue; }
    if (!line.startsWith("$ ")) continue;
    typed.push(line.slice(2));
    document = line.includes("<<EOF");
  }
  return typed.join("\n") + "\n";
}

for (const block of document.querySelectorAll("pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(commandsOf(block.querySelector("code").textContent));
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  const frame = document.createElement("div");
  frame.className = "block";
  block.replaceWith(frame);
  frame.append(block, button);
}

if (matchMedia("(min-width: 50rem)").matches) {
  for (const outline of document.querySelectorAll(".outline")) outline.open = true;
}

// Unpacks the columns that embedded.py packed.

const kinds = { Float32Array, Float64Array, Uint8Array, Uint16Array, Uint32Array };
const unpacked = new Map();

/** Return the pairs of a dataset: head of the data, and its columns by name. */
function load(key) {
  if (!unpacked.has(key)) unpacked.set(key, unpack(document.getElementById("data-" + key).textContent));
  return unpacked.get(key);
}

async function unpack(written) {
  const bytes = Uint8Array.fromBase64
    ? Uint8Array.fromBase64(written)
    : Uint8Array.from(atob(written), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const start = 4 + new DataView(buffer).getUint32(0, true);
  const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, start - 4)));
  const column = ([kind, offset, length]) => new kinds[kind](buffer, start + offset, length);
  for (const name in data.columns) data.columns[name] = column(data.columns[name]);
  return data;
}

/** Return a number as it was before it became a 32-bit float, as far as a reader cares; a dash for none. */
function shown(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(5))) : "–";
}

/** Return a number with three decimals; a dash for none. */
function fixed(value) {
  return Number.isFinite(value) ? value.toFixed(3).replace("-", "−") : "–";
}

/** Return an element; children are text, never markup. */
function make(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  made.append(...children);
  return made;
}

/** Fill a list with [value, text] and keep the choice where it is still there; at first, choose the value given. */
function fill(list, choices, value) {
  // numbers mean something else on another dataset: the same name stays chosen, where there is one
  const before = list.selectedOptions[0]?.textContent;
  list.replaceChildren(...choices.map(([value, text]) => make("option", { value }, text)));
  const usual = [...list.options].find((option) => option.value === String(value ?? "")) ?? list.options[0];
  if (usual) usual.defaultSelected = true;
  const same = [...list.options].find((option) => option.textContent === before);
  if (same) same.selected = true;
}

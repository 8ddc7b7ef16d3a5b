// A squarified treemap of a directory: areas are sizes.

import { html } from './store.js';

/** Lays out items with a `size` in a rectangle, as near to squares as the order allows. */
export function squarify(items, box) {
  const total = items.reduce((sum, item) => sum + item.size, 0);
  if (!total || !items.length) return [];
  const scale = (box.w * box.h) / total;
  const sorted = items.map((item) => ({ ...item, area: item.size * scale })).sort((a, b) => b.area - a.area);
  const placed = [];
  let rest = { ...box };
  let row = [];
  while (sorted.length) {
    const side = Math.min(rest.w, rest.h);
    const item = sorted[0];
    if (!row.length || worst([...row, item], side) <= worst(row, side)) row.push(sorted.shift());
    else {
      rest = place(row, rest, placed);
      row = [];
    }
  }
  place(row, rest, placed);
  return placed;
}

function worst(row, side) {
  const sum = row.reduce((total, item) => total + item.area, 0);
  const areas = row.map((item) => item.area);
  return Math.max((side ** 2 * Math.max(...areas)) / sum ** 2, sum ** 2 / (side ** 2 * Math.min(...areas)));
}

function place(row, box, placed) {
  const sum = row.reduce((total, item) => total + item.area, 0);
  const upright = box.w >= box.h;
  const thick = sum / (upright ? box.h : box.w);
  let at = 0;
  for (const item of row) {
    const long = item.area / thick;
    placed.push(upright ? { ...item, x: box.x, y: box.y + at, w: thick, h: long } : { ...item, x: box.x + at, y: box.y, w: long, h: thick });
    at += long;
  }
  return upright ? { x: box.x + thick, y: box.y, w: box.w - thick, h: box.h } : { x: box.x, y: box.y + thick, w: box.w, h: box.h - thick };
}

/** Draws it in percent, so that it follows the width of its box. */
export function Treemap({ items, cell, label }) {
  const tiles = squarify(items.filter((item) => item.size > 0), { x: 0, y: 0, w: 100, h: 66 });
  return html`<div class="treemap" role="group" aria-label=${label}>
    ${tiles.map((tile) => {
      const style = { left: `${tile.x}%`, top: `${tile.y / 0.66}%`, width: `${tile.w}%`, height: `${tile.h / 0.66}%` };
      return html`<div class=${`tile ${tile.isDirectory ? 'directory' : ''}`} key=${tile.key} style=${style}>${cell(tile, tile.w > 9 && tile.h > 5)}</div>`;
    })}
  </div>`;
}

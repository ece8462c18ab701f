// Axes: round ticks, and places for labels that do not touch each other.

// Steps of 1, 2 or 5 times a power of ten, about `count` of them.
function ticksOf(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  if (!(rough > 0)) return { ticks: [low], decimals: 0 };
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let index = Math.ceil(low / step - 1e-9); index * step <= high + step * 1e-9; index += 1) ticks.push(index * step);
  return { ticks, decimals: Math.max(0, -Math.floor(Math.log10(step) + 1e-9)) };
}

// A linear scale around values, with some room at both ends, never below zero.
function scaleAround(values, from, to, room) {
  let low = Math.min(...values);
  let high = Math.max(...values);
  const spread = high - low || Math.abs(high) * 0.2 || 1;
  low = Math.max(0, low - spread * room);
  high += spread * room;
  return { low, high, at: (value) => from + ((value - low) / (high - low)) * (to - from) };
}

// Generous: a label with too much room looks better than two that touch.
const textWidth = (text, size) => text.length * size * 0.58;

// Puts labels beside their points where neither a label nor a mark is in the way; those without a place are left out.
function placeLabels(labels, marks, area, size) {
  const taken = marks.map(({ x, y, r }) => [x - r, y - r, x + r, y + r]);
  const touches = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const placed = [];
  for (const label of labels) {
    const width = textWidth(label.text, size) + 2;
    const gap = label.r + 3;
    const tries = [
      [gap, -size / 2], [-gap - width, -size / 2], [-width / 2, -gap - size], [-width / 2, gap],
      [gap * 0.7, -gap * 0.7 - size], [-gap * 0.7 - width, -gap * 0.7 - size], [gap * 0.7, gap * 0.7], [-gap * 0.7 - width, gap * 0.7],
    ];
    for (const [dx, dy] of tries) {
      const box = [label.x + dx, label.y + dy, label.x + dx + width, label.y + dy + size];
      const inside = box[0] >= area.left && box[2] <= area.right && box[1] >= area.top && box[3] <= area.bottom;
      if (inside && !taken.some((other) => touches(box, other))) {
        taken.push(box);
        placed.push({ ...label, left: box[0] + 1, middle: (box[1] + box[3]) / 2 });
        break;
      }
    }
  }
  return placed;
}

// Formats numbers for people.

const units = [
  [1e15, "P"],
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

export function shortNumber(number) {
  for (const [size, unit] of units) {
    if (Math.abs(number) >= size) return `${threeDigits(number / size)} ${unit}`;
  }
  return String(number);
}

function threeDigits(number) {
  return number >= 100 ? number.toFixed(0) : number >= 10 ? number.toFixed(1) : number.toFixed(2);
}

export function exactNumber(number) {
  return number.toLocaleString("en-US");
}

export function bytes(number) {
  const names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (number >= 1024 && unit + 1 < names.length) {
    number /= 1024;
    ++unit;
  }
  return `${unit ? threeDigits(number) : number} ${names[unit]}`;
}

export function percent(share) {
  if (share <= 0) return "0 %";
  return share < 0.001 ? "< 0.1 %" : `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`;
}

// "1,234 (1.23 k)"; symbolic expressions stay as they are.
export function numberText(value, short = shortNumber) {
  if (typeof value !== "number") return String(value);
  const text = short(value);
  return value < 1000 ? text : `${text} (${exactNumber(value)})`;
}

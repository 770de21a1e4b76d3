"""Contrast of every text of a page with what is behind it."""

from __future__ import annotations

#: Ratio of two colours by WCAG 2, on the colour behind a text.
CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const channels = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => channels(colour).slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (channels(colour)[3] > 0) return colour;
    }
    return getComputedStyle(document.body).backgroundColor;
  };
  const found = {};
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !one.checkVisibility() || one.disabled || one.closest("title, desc, script, option")) continue;
    const drawn = one instanceof SVGElement;
    const style = getComputedStyle(one);
    const [a, b] = [light(drawn ? style.fill : style.color), light(behind(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) found[one.tagName + "." + one.getAttribute("class")] = ratio;
  }
  return found;
}"""

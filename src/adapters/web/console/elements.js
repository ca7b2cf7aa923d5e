// The one way elements are made here: text always as text, never as markup.

/** An element with a class and a text, both optional. */
export function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** A picture of strokes on a 20 × 20 field. The words beside it say the same, so it is silent for screen readers. */
export function icon(...paths) {
  const namespace = 'http://www.w3.org/2000/svg';
  const svg = document.createElementNS(namespace, 'svg');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  for (const path of paths) {
    const stroke = document.createElementNS(namespace, 'path');
    stroke.setAttribute('d', path);
    svg.append(stroke);
  }
  return svg;
}

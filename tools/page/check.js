// What the checks of pages share. A check's checkPage(w) looks at the page in the window w; the verdict is the checking page's text.
'use strict';
const failures = [];
let count = 0;
let size = '';
function check(holds, what) {
  ++count;
  if (!holds) failures.push(size + ': ' + what);
}

// Clicks where an element or a drawn thing is, as a mouse does.
function clickAt(w, target, x, y) {
  for (const type of ['mousedown', 'mouseup', 'click'])
    target.dispatchEvent(new w.MouseEvent(type, {bubbles: true, clientX: x, clientY: y, view: w}));
}
function click(w, target) {
  target.scrollIntoView();
  const box = target.getBoundingClientRect();
  const x = box.left + box.width / 2, y = box.top + box.height / 2;
  const hit = w.document.elementFromPoint(x, y);
  check(hit === target, 'something lies over ' + target.outerHTML.slice(0, 80));
  clickAt(w, hit || target, x, y);
}
// Bars or lines, and words: many pixels of a full colour, and many colours.
function isDrawnOn(canvas) {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Set();
  let full = 0;
  for (let i = 0; i < data.length; i += 4) {
    if (data[i + 3] > 0) colours.add(data.slice(i, i + 4).join());
    full += data[i + 3] === 255 ? 1 : 0;
  }
  return colours.size > 20 && full > 500;
}
// Chart.js answers with the next picture, which is a timer here (page_checks.cmake).
const nextPicture = (w) => new Promise((done) => w.setTimeout(() => w.setTimeout(done)));

// What holds of any page, at any time.
function isWhole(w) {
  check(w.errors !== undefined && w.errors.length === 0, 'errors: ' + w.errors);
  check(w.performance.getEntriesByType('resource').length === 0, 'the page loads something else');
}
function fits(w, when) {
  const width = w.document.documentElement.scrollWidth;
  check(width <= w.innerWidth, when + ' it is wider than the window: ' + width);
}
function words(w, when) {
  check(!/undefined|NaN|Infinity|null|\[object/.test(w.document.body.innerText), when + ' a text has undefined, NaN, Infinity or null');
}
function canvases(w, many) {
  const all = [...w.document.querySelectorAll('canvas')];
  check(all.length === many, 'canvases: ' + all.length);
  for (const c of all) {
    check(c.clientWidth > 100 && c.getBoundingClientRect().right <= w.innerWidth, c.id + ' is as wide as ' + c.clientWidth);
    check(isDrawnOn(c), c.id + ' has nothing drawn on it');
    for (const scale of Object.values(w.Chart.getChart(c).options.scales))
      check(scale.title.display && scale.title.text.length > 2, c.id + ' has an axis without a title');
  }
}

addEventListener('load', async () => {
  for (const frame of document.querySelectorAll('iframe')) {
    size = frame.id;
    try {
      await checkPage(frame.contentWindow);
    } catch (e) {
      failures.push(size + ': ' + e + e.stack);
    }
  }
  document.getElementById('verdict').textContent =
    failures.length === 0 ? 'verdict: passed ' + count + ' checks' : 'verdict: FAILED ' + failures.length + ' of ' + count + '\n' + failures.join('\n') + '\nend of verdict';
});

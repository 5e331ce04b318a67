// Draws the run in #data: see mtf::report_json for what is in it.
const curve = (name) => data.curves[name] || [];
const last = (points) => points[points.length - 1];
const short = (x) => (x === 0 ? '0' : Math.abs(x) >= 1e5 || Math.abs(x) < 1e-5 ? x.toExponential(2) : String(Number(x.toPrecision(4))));
const percent = (share) => (100 * share).toFixed(share < 0.1 ? 1 : 0) + ' %';
function duration(s) {
  if (s < 60) return seconds(s);
  const parts = [Math.floor(s / 3600), Math.floor(s / 60) % 60, Math.floor(s) % 60];
  return (parts[0] > 0 ? parts[0] + ' h ' : '') + parts[1] + ' min' + (parts[0] > 0 ? '' : ' ' + parts[2] + ' s');
}
const evaluations = curve(data.evaluation);
const losses = curve('loss').map(([step, ...ys]) => [step, ...ys.map((y) => y * data.loss_scale)]);
const unit = data.unit ? ' [' + data.unit + ']' : '';
const withUnit = (x) => short(x) + (data.unit ? ' ' + data.unit : '');
const plain = data.evaluation.replace(/_.*/, '');

// --- head ------------------------------------------------------------------------------------------------------------

document.title = data.title;
byId('title').textContent = data.title;
byId('about').textContent = 'A training run of ' + data.steps + ' steps: after step ' + data.step + ', ' +
  (data.state === 'goes on' ? 'the run goes on' : data.state) + '. ' +
  (data.resumed_after > 0 ? 'It was resumed after step ' + data.resumed_after + '. ' : '') + 'Written ' + data.written + '.';

const mean = (points) => points.reduce((s, p) => s + p[1], 0) / points.length;
// What the first steps take is no measure: memory is new to them.
const usual = (points) => points.slice(Math.min(3, points.length - 1));
const stepSeconds = curve('seconds');
const phasesTotal = data.phases.reduce((s, p) => s + p[1], 0);
const figures = [];
if (evaluations.length > 0) figures.push([plain, withUnit(last(evaluations)[1]), 'on data that is not trained on']);
if (losses.length > 0) {
  const tail = losses.slice(-Math.min(20, losses.length));
  figures.push(['training loss', withUnit(mean(tail)), 'mean of the last ' + (last(losses)[0] - tail[0][0] + 1) + ' steps']);
}
if (stepSeconds.length > 0) {
  const s = mean(usual(stepSeconds));
  figures.push(['a step takes', seconds(s), data.items > 0 ? scaled(data.items / s, ['', 'k', 'M', 'G'], 1000) + ' ' + data.item + ' a second' : '']);
}
if (phasesTotal > 0) figures.push(['this start took', duration(phasesTotal), 'in steps ' + (data.resumed_after + 1) + ' to ' + data.step]);
if (curve('peak_bytes').length > 0)
  figures.push(['memory', bytes(Math.max(...curve('peak_bytes').map((p) => p[3] || p[1]))), 'of tensors on the first rank, at most']);
byId('figures').append(...figures.map(([name, value, note]) => element('div', {className: 'figure'},
  element('span', {className: 'name', textContent: name}), element('b', {textContent: value}), element('span', {className: 'note', textContent: note}))));

byId('losses-words').append(...(losses.length === 0 ? ['No step was done yet.'] : [
  'How wrong the model is', data.unit ? ', in ' + data.unit.replace('/', ' per ') : '', ': lower is better. ', element('b', {textContent: 'Training'}),
  ' is the loss of the examples of each step, before they are learnt from; it scatters, as each step has others, so its ',
  element('b', {textContent: 'mean'}), ' over nearby steps is drawn too.',
  ...(evaluations.length > 0 ? [' ', element('b', {textContent: plain[0].toUpperCase() + plain.slice(1)}), ' is the loss of data that is never trained on.'] : []),
  ...(data.reference ? [' The dashed line is what ' + data.reference[0] + ' gets.'] : [])]));
const shownRemarks = 12;
if (data.remarks.length > 0)
  byId('remarks').append(element('p', {className: 'note', textContent: 'What was unusual:'}), element('ul', {},
    ...data.remarks.slice(0, shownRemarks).map(([step, what]) => element('li', {textContent: 'step ' + step + ': ' + what})),
    ...(data.remarks.length > shownRemarks ? [element('li', {textContent: 'and ' + (data.remarks.length - shownRemarks) + ' more'})] : [])));
byId('machine-words').textContent = 'Measured on the first rank. ' + (data.items > 0 ? 'A step has ' + data.items + ' ' + data.item + '. ' : '') +
  'Memory is what tensors take: after a step the parameters and the optimizer\u2019s state; at most within it, what the backward pass needs besides.';

for (const [name, value] of data.facts)
  byId('facts').querySelector('tbody').append(element('tr', {}, element('th', {textContent: name}), element('td', {textContent: value})));
byId('whole-plan').hidden = data.plan === '';
byId('whole-plan').querySelector('pre').textContent = data.plan;

// --- curves over steps -----------------------------------------------------------------------------------------------

const views = {'all steps': 0, 'last half': 0.5, 'last tenth': 0.9};
let view = 'all steps', logarithmic = false;
const first = 0, end = Math.max(1, data.step);
const shown = (points) => points.filter((p) => p[0] >= first + views[view] * (end - first));
const stepAxis = () => axis('step', {type: 'linear', min: Math.floor(first + views[view] * (end - first)), max: end, ticks: {maxRotation: 0, includeBounds: false, precision: 0}});
const xy = (points, column = 1) => shown(points).map((p) => ({x: p[0], y: p[column] === undefined ? p[1] : p[column]}));
const line = (label, color, points, more = {}) => ({
  label, data: points, borderColor: color, backgroundColor: color, borderWidth: 1.6, pointRadius: 0, pointHitRadius: 6, ...more});

// Each point the mean of its neighbours, up to `reach` on each side; fewer at the ends.
function smoothed(points, reach) {
  const sums = [0];
  for (const p of points) sums.push(last(sums) + p[1]);
  return points.map((p, i) => {
    const r = Math.min(reach, i, points.length - 1 - i);
    return [p[0], (sums[i + r + 1] - sums[i - r]) / (2 * r + 1)];
  });
}

const reach = (points) => Math.max(1, Math.round(points.length / 60));

function drawLines(id, sets, yAxis, text) {
  const o = base();
  o.parsing = false;
  o.interaction = {mode: 'nearest', axis: 'x', intersect: false};
  o.plugins.legend.labels = {usePointStyle: true, pointStyle: 'line', filter: (x) => !x.text.startsWith('least')};
  o.plugins.tooltip = {...o.interaction, filter: (c) => !c.dataset.label.startsWith('least'), callbacks: {
    title: (c) => (c.length > 0 ? 'step ' + c[0].raw.x : ''), label: (c) => c.dataset.label + ': ' + text(c.raw.y)}};
  o.scales = {x: stepAxis(), y: yAxis};
  charts.push(new Chart(byId(id), {type: 'line', data: {datasets: sets}, options: o}));
}
// Where one point stands for many steps, the area from the least to the largest.
function area(points, color) {
  if (!points.some((p) => p[3] !== undefined)) return [];
  return [line('least', 'transparent', xy(points, 2)), line('least to largest', 'transparent', xy(points, 3), {fill: '-1', backgroundColor: color + '33'})];
}

function drawLosses() {
  const training = cssColor('product'), seen = shown(losses);
  const sets = [
    ...(data.reference ? [line(data.reference[0], cssColor('soft'), [{x: stepAxis().min, y: data.reference[1]}, {x: end, y: data.reference[1]}], {borderDash: [6, 4]})] : []),
    line(plain, cssColor('collective'), xy(evaluations), {borderWidth: 2, pointRadius: 3, order: -2}),
    line('training, mean', training, xy(smoothed(losses, reach(losses))), {borderWidth: 2.2, order: -1}),
    line('training', training + '66', xy(losses), {borderWidth: 1}),
    ...area(losses, training)];
  const marked = data.remarks.map(([step]) => [step, (losses.find((p) => p[0] >= step) || last(losses) || [0, 0])[1]]);
  if (marked.length > 0)
    sets.push(line('unusual steps', cssColor('wait'), xy(marked), {showLine: false, pointStyle: 'triangle', pointRadius: 7, order: -3}));
  // Of the scatter of early steps nothing else shall become flat.
  const y = axis('loss' + unit, logarithmic ? {type: 'logarithmic', ticks: {callback: (v) => short(v)}} : {});
  if (seen.length > 0) drawLines('loss', sets.filter((s) => s.data.length > 0), y, withUnit);
}

function drawSteps() {
  const plainCurve = (id, name, title, color, text) =>
    drawLines(id, [line(name, cssColor(color), xy(curve(id === 'rate' ? 'learning_rate' : 'gradient_norm'))),
      ...area(curve(id === 'rate' ? 'learning_rate' : 'gradient_norm'), cssColor(color))], axis(title, {ticks: {callback: (v) => short(v)}}), text);
  plainCurve('rate', 'learning rate', 'learning rate', 'product', short);
  plainCurve('norm', 'norm of the gradients', 'norm of the gradients', 'kernel', short);
}

function drawMachine() {
  const perSecond = data.items > 0;
  const speeds = usual(stepSeconds).map((p) => [p[0], perSecond ? data.items / p[1] : 1 / p[1], perSecond && p[3] ? data.items / p[3] : p[3] ? 1 / p[3] : undefined,
    perSecond && p[2] ? data.items / p[2] : p[2] ? 1 / p[2] : undefined]);
  const what = perSecond ? data.item : 'steps';
  drawLines('speed', [line(what + ' a second, mean', cssColor('product'), xy(smoothed(speeds, reach(speeds))), {borderWidth: 2.2, order: -1}),
    line(what + ' a second', cssColor('product') + '66', xy(speeds), {borderWidth: 1}), ...area(speeds, cssColor('product'))],
    axis('speed [' + what + '/s]', {beginAtZero: true, ticks: {callback: (v) => (v >= 1e4 ? short(v / 1000) + ' k' : short(v))}}), (v) => short(v) + ' ' + what + '/s');
  const peaks = curve('peak_bytes'), largest = Math.max(0, ...peaks.map((p) => p[3] || p[1]));
  const size = largest >= 1e9 ? ['GB', 1e9] : largest >= 1e6 ? ['MB', 1e6] : ['kB', 1e3];
  const inSize = (points) => points.map((p) => [p[0], p[1] / size[1]]);
  drawLines('memory', [line('at most in a step', cssColor('collective'), xy(inSize(peaks))), line('after a step', cssColor('kernel'), xy(inSize(curve('live_bytes'))))],
    axis('memory of tensors [' + size[0] + ']', {beginAtZero: true}), (v) => bytes(v * size[1]));
}

// --- where the time goes ---------------------------------------------------------------------------------------------

// What a bar comes to, behind it; of that only the share where there is little room.
const isNarrow = (id) => byId(id + '-box').clientWidth < 640;
const barFont = '12px system-ui, "DejaVu Sans", sans-serif';
const barWords = (id, words) => (i) => (isNarrow(id) ? words(i).replace(/.*, /, '') : words(i));
const barEnds = (words) => ({
  id: 'barEnds',
  afterDatasetsDraw(chart) {
    const c = chart.ctx, ends = chart.data.labels.map((_, i) => Math.max(...chart.data.datasets.map((_, s) => chart.getDatasetMeta(s).data[i].x)));
    c.save();
    c.font = barFont;
    c.textBaseline = 'middle';
    c.fillStyle = cssColor('ink');
    ends.forEach((x, i) => c.fillText(words(i), x + 6, chart.getDatasetMeta(0).data[i].y));
    c.restore();
  },
});
function bars(id, labels, sets, xAxis, more) {
  byId(id + '-box').style.height = 5.5 + 1.75 * labels.length + 'rem';
  const o = base();
  o.indexAxis = 'y';
  const most = (canvas) => Math.floor(canvas.clientWidth * 0.05);
  o.scales = {x: {...xAxis, beginAtZero: true, stacked: true}, y: {stacked: true, title: {display: true, text: more.rows}, grid: {display: false}, ticks: {autoSkip: false,
    callback(v) { const s = this.getLabelForValue(v), n = most(byId(id)); return s.length > n ? s.slice(0, n - 1) + '\u2026' : s; }}}};
  const words = barWords(id, more.text), pen = byId(id).getContext('2d');
  pen.font = barFont;
  o.layout = {padding: {right: 12 + Math.max(0, ...labels.map((_, i) => pen.measureText(words(i)).width))}};
  o.plugins.legend.display = sets.length > 1;
  o.plugins.tooltip.callbacks = {label: (c) => (sets.length > 1 ? c.dataset.label + ', of ' : '') + more.text(c.dataIndex)};
  if (more.click) o.onClick = (_, hit) => { if (hit.length > 0) more.click(hit[0].index); };
  charts.push(new Chart(byId(id), {type: 'bar', data: {labels, datasets: sets}, options: o, plugins: [barEnds(words)]}));
}

function drawPhases() {
  const rows = data.phases.filter((p) => p[1] > 0), largest = Math.max(0, ...rows.map((p) => p[1]));
  const size = largest >= 7200 ? ['h', 3600] : largest >= 120 ? ['min', 60] : largest >= 1 ? ['s', 1] : ['ms', 1e-3];
  byId('phases-words').textContent = 'What the loop did since this start, ' + duration(phasesTotal) + ' in all, on the first rank.';
  bars('phases', rows.map((p) => p[0]), [{label: 'time', backgroundColor: cssColor('product'), data: rows.map((p) => p[1] / size[1])}],
    axis('time [' + size[0] + ']'), {rows: 'part of the loop', text: (i) => duration(rows[i][1]) + ', ' + percent(rows[i][1] / phasesTotal)});
}

const kinds = {product: 'matrix products', kernel: 'other kernels', collective: 'messages between ranks', rest: 'the rest'};
function operationRows(profile) {
  const rows = new Map();
  for (const r of profile.rows) {
    const name = (r.operation || 'copies') + ' ' + r.pass;
    if (!rows.has(name)) rows.set(name, {name, total: 0, calls: 0, flops: 0, bytes: 0, sent: 0, seconds: {product: 0, kernel: 0, collective: 0, rest: 0}});
    const row = rows.get(name);
    row.total += r.seconds, row.calls += r.calls, row.seconds[r.kind] += r.seconds, row.flops += r.flops;
    row[r.kind === 'collective' ? 'sent' : 'bytes'] += r.bytes;
  }
  const sorted = [...rows.values()].sort((a, b) => b.total - a.total), most = 11;
  const measured = sorted.reduce((s, r) => s + r.total, 0);
  const left = {name: 'the library and the data', total: Math.max(0, profile.seconds - measured), calls: 0, flops: 0, bytes: 0, sent: 0,
    seconds: {product: 0, kernel: 0, collective: 0, rest: Math.max(0, profile.seconds - measured)}};
  if (sorted.length <= most) return [...sorted, left];
  const others = {name: (sorted.length - most) + ' others', total: 0, calls: 0, flops: 0, bytes: 0, sent: 0, seconds: {product: 0, kernel: 0, collective: 0, rest: 0}};
  for (const r of sorted.slice(most)) {
    for (const key of ['total', 'calls', 'flops', 'bytes', 'sent']) others[key] += r[key];
    for (const key of Object.keys(others.seconds)) others.seconds[key] += r.seconds[key];
  }
  return [...sorted.slice(0, most), others, left];
}

function drawOperations() {
  byId('operations-part').hidden = !data.profile;
  if (!data.profile) return;
  const profile = data.profile, rows = operationRows(profile), perStep = profile.seconds / profile.steps;
  byId('operations-words').textContent = profile.steps + ' steps were timed operation by operation, forward and backward; ' + seconds(perStep) + ' a step. ' +
    'Products multiply matrices; other kernels move memory; messages include the waiting for other ranks. Select a bar to see how fast it is.';
  const size = perStep >= 1 ? ['s', 1] : perStep >= 1e-3 ? ['ms', 1e-3] : ['\u00b5s', 1e-6];
  const colors = {product: 'product', kernel: 'kernel', collective: 'collective', rest: 'pass'};
  bars('operations', rows.map((r) => r.name),
    Object.keys(kinds).map((k) => ({label: kinds[k], backgroundColor: cssColor(colors[k]), data: rows.map((r) => r.seconds[k] / profile.steps / size[1])})).filter((s) => s.data.some((x) => x > 0)),
    axis('time in a step [' + size[0] + ']'), {rows: 'operation', text: (i) => seconds(rows[i].total / profile.steps) + ', ' + percent(rows[i].total / profile.seconds),
      click: (i) => {
        const r = rows[i], said = [r.name + ': ' + seconds(r.total / profile.steps) + ' a step, ' + percent(r.total / profile.seconds) + ' of it'];
        if (r.calls > 0) said.push(Math.round(r.calls / profile.steps) + ' calls');
        if (r.flops > 0) {
          const speed = r.flops / r.seconds.product;
          said.push('matrix products at ' + flops(speed) + '/s' + (profile.flops_per_second > 0 ? ' (' + percent(speed / profile.flops_per_second) + ' of what the rank can do)' : ''));
        }
        if (r.seconds.kernel > 0) said.push('kernels at ' + bytes(r.bytes / (r.seconds.kernel + r.seconds.product)) + '/s of memory');
        if (r.sent > 0) said.push(bytes(r.sent / profile.steps) + ' sent');
        byId('operation-detail').textContent = said.join('; ') + '.';
      }});
}

// --- all of it -------------------------------------------------------------------------------------------------------

function draw() {
  clearCharts();
  drawLosses();
  drawSteps();
  drawMachine();
  drawPhases();
  drawOperations();
}
function choice(at, names, chosen, choose) {
  for (const name of names) {
    const b = element('button', {type: 'button', textContent: name});
    b.setAttribute('aria-pressed', String(name === chosen));
    b.addEventListener('click', () => {
      choose(name);
      for (const other of byId(at).children) other.setAttribute('aria-pressed', String(other === b));
      draw();
    });
    byId(at).append(b);
  }
}
choice('zoom', Object.keys(views), view, (name) => { view = name; });
choice('scale', ['linear', 'logarithmic'], 'linear', (name) => { logarithmic = name === 'logarithmic'; });
draw();
drawAgainInOtherColours(draw);

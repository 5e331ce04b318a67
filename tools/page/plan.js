// Draws the plans in #data: see mtf::json_of(plan_record) for what is in them.
const layouts = data.layouts;
const letters = layouts.map((_, i) => (i < 26 ? String.fromCharCode(65 + i) : String(i + 1)));
const layoutColors = ['#2f6fde', '#c2410c', '#15803d', '#9333ea', '#b45309', '#0e7490', '#be185d', '#4d7c0f'];
const layoutColor = (i) => layoutColors[i % layoutColors.length];
const shardColors = ['#8ab4f8', '#f7b267', '#8fd694', '#d7a6f2', '#f49ac1', '#7fd6d6', '#e3d26f', '#b6bfcc'];

// --- words -----------------------------------------------------------------------------------------------------------

const tensorText = (dims) => '[' + dims.map((d) => d.dim + d.split.map((a) => '/' + a).join('')).join(', ') + ']';
const tensorName = (t) => t.name.replace('.*.', '.').replace('*', '') + (t.count > 1 ? ' of ' + t.count + ' layers' : '');
const axesText = (axes) => (axes.length > 1 ? 'the axes ' : 'the axis ') + axes.join(' and ');
const itemName = (item) => [item.operation || 'copies', ...item.parameters].join(' ');
const className = {product: 'product', kernel: 'other kernel', collective: 'collective', beside: 'hidden collective'};
const classOf = (item) => (item.beside ? 'beside' : item.what === 'product' || item.what === 'kernel' ? item.what : 'collective');

function key(i) {
  const k = element('span', {className: 'key', textContent: letters[i]});
  k.style.background = layoutColor(i);
  return k;
}
// Rules may go on in the next line after a semicolon.
function rules(text) {
  return element('code', {}, ...text.split(';').flatMap((r, i) => (i > 0 ? [';', element('wbr'), r] : [r])));
}
function describeLayout(l) {
  const words = ['mesh ', rules(l.mesh.map((a) => a.axis + ':' + a.ranks).join(';'))];
  if (l.layout === '' && !l.upper_layout) words.push(', nothing is split');
  else words.push(', layout ', l.layout === '' ? 'of the lower half none' : rules(l.layout));
  if (l.upper_layout) words.push(', upper half of the layers ', rules(l.upper_layout));
  if (l.state !== 'split') words.push(", the optimizer's state ", l.state);
  if (l.gradients !== 'overlapped') words.push(', gradients ', l.gradients);
  return words;
}
function heading(i) { return element('h3', {}, key(i), ...describeLayout(layouts[i])); }

// --- head and totals -------------------------------------------------------------------------------------------------

const machine = data.machine;
byId('about').textContent =
  'A plan, made before anything runs: what each rank computes, sends and holds, priced for ' + machine.name +
  (machine.ranks_per_node > 1 ? ' (' + machine.ranks_per_node + ' ranks in a node)' : '') + '. The model: ' + data.model + '.';
layouts.forEach((l, i) => byId('layouts').append(element('li', {}, key(i), ...describeLayout(l))));

const ranksOf = (l) => l.mesh.reduce((n, a) => n * a.ranks, 1);
const columns = [
  ['step', (l) => l.seconds, seconds],
  ['products', (l) => l.price.products, seconds],
  ['other kernels', (l) => l.price.kernels, seconds],
  ['collectives', (l) => l.price.collectives, seconds],
  ['of these hidden', (l) => l.price.hidden, seconds, 'no best'],
  ['sent', (l) => l.bytes_sent, bytes],
  ['number of collectives', (l) => l.collective_count, String],
  ['peak memory', (l) => l.peak_bytes, bytes],
];
byId('totals').querySelector('thead').append(
  element('tr', {}, element('th', {textContent: 'layout'}), element('th', {textContent: 'ranks'}),
    ...columns.map(([name]) => element('th', {textContent: name}))));
layouts.forEach((l, i) => {
  const row = element('tr', {}, element('td', {}, key(i)), element('td', {textContent: ranksOf(l)}));
  for (const [name, value, text, noBest] of columns) {
    const cell = element('td', {textContent: text(value(l))});
    const all = layouts.map(value);
    if (!noBest && layouts.length > 1 && value(l) === Math.min(...all) && value(l) < Math.max(...all)) cell.className = 'best';
    if (name === 'peak memory' && machine.memory && l.peak_bytes > machine.memory) {
      cell.className = 'over';
      cell.textContent += ', too much';
      cell.title = 'a rank has ' + bytes(machine.memory);
    }
    row.append(cell);
  }
  byId('totals').querySelector('tbody').append(row);
});

// --- the mesh --------------------------------------------------------------------------------------------------------

// A rank's coordinates on the mesh; ranks are row-major, the last axis fastest.
function coordinates(mesh, rank) {
  const at = {};
  for (const a of [...mesh].reverse()) at[a.axis] = rank % a.ranks, rank = Math.floor(rank / a.ranks);
  return at;
}
// Of each dimension [first, last] that a rank holds.
function shardOf(tensor, mesh, rank) {
  const at = coordinates(mesh, rank);
  return tensor.dims.map((d) => {
    let index = 0, parts = 1;
    for (const axis of d.split) {
      const n = mesh.find((a) => a.axis === axis).ranks;
      index = index * n + at[axis], parts *= n;
    }
    const size = d.extent / parts;
    return {dim: d.dim, extent: d.extent, parts, index, first: index * size, last: (index + 1) * size - 1};
  });
}
const rangeText = (r) => r.dim + (r.parts === 1 ? ' all ' + r.extent : ' ' + r.first + (r.last > r.first ? '\u2013' + r.last : ''));

function drawMesh(i, which) {
  const l = layouts[i], tensor = l.tensors[which], ranks = ranksOf(l);
  // A row for each position along all axes but the last; of a mesh of one long axis in rows of eight.
  const last = l.mesh.length > 0 ? l.mesh[l.mesh.length - 1] : {axis: 'rank', ranks: 1};
  const wrapped = l.mesh.length === 1 && last.ranks > 8;
  const across = wrapped ? 8 : last.ranks;
  const shards = new Map();
  const numbers = [];
  for (let r = 0; r < ranks; ++r) {
    const id = shardOf(tensor, l.mesh, r).map((d) => d.index).join();
    if (!shards.has(id)) shards.set(id, shards.size);
    numbers.push(shards.get(id));
  }
  const copies = ranks / shards.size;
  const size = tensor.element_bytes * tensor.dims.reduce((n, d) => n * d.extent, 1) / shards.size;
  const grid = element('div', {className: 'grid'});
  grid.style.gridTemplateColumns = 'auto repeat(' + across + ', minmax(1.5rem, 1fr))';
  const label = (text) => grid.append(element('span', {className: 'axis', textContent: text}));
  const axisRow = element('span', {className: 'axis', textContent: last.axis + ' \u2192'});
  axisRow.style.gridColumn = '2 / -1';
  if (!wrapped) grid.append(element('span'), axisRow);
  if (!wrapped) label('');
  for (let c = 0; c < across && !wrapped; ++c) label(c);
  for (let r = 0; r < ranks; ++r) {
    if (r % across === 0) {
      const at = coordinates(l.mesh, r);
      label(wrapped ? last.axis + ' ' + r + '\u2013' + Math.min(r + 7, ranks - 1) : l.mesh.slice(0, -1).map((a) => a.axis + ' ' + at[a.axis]).join(', '));
    }
    const cell = element('button', {className: 'rank', type: 'button', textContent: r, title: 'rank ' + r});
    cell.setAttribute('aria-pressed', 'false');
    const n = numbers[r];
    cell.style.background = n < shardColors.length ? shardColors[n] : 'hsl(' + ((n * 137.5) % 360) + ' 60% ' + (68 + (n % 3) * 7) + '%)';
    cell.addEventListener('click', () => {
      document.querySelectorAll('.rank').forEach((b) => b.setAttribute('aria-pressed', String(b === cell)));
      const same = numbers.flatMap((m, other) => (m === n && other !== r ? [other] : []));
      const at = coordinates(l.mesh, r);
      byId('rank-detail').textContent =
        letters[i] + ', rank ' + r + ' (' + l.mesh.map((a) => a.axis + ' ' + at[a.axis]).join(', ') + ') holds of ' +
        tensorName(tensor) + ': ' + (shardOf(tensor, l.mesh, r).map(rangeText).join(', ') || 'the number') + '; ' + bytes(size) +
        (tensor.count > 1 ? ' in each layer' : '') +
        (same.length === 0 ? '. No other rank holds this shard.' : '. The same shard: rank' + (same.length > 1 ? 's ' : ' ') + same.slice(0, 16).join(', ') +
          (same.length > 16 ? ' and ' + (same.length - 16) + ' more' : '') + '.');
    });
    grid.append(cell);
  }
  const words = shards.size === 1 ? 'Not split: ' + (ranks > 1 ? 'each of the ' + ranks + ' ranks holds' : 'the rank holds') + ' all ' + bytes(size) + '.'
    : shards.size + ' shards of ' + bytes(size) + ', each on ' + (copies > 1 ? copies + ' ranks (replicas).' : 'one rank.');
  return element('div', {className: 'card'}, heading(i), element('p', {className: 'note'}, element('code', {textContent: tensorText(tensor.dims)}), element('br'), words), grid);
}
function drawMeshes() {
  const which = Number(byId('tensor').value), t = layouts[0].tensors[which];
  byId('tensor-shape').textContent =
    tensorName(t) + ': ' + t.dims.map((d) => d.dim + ' ' + d.extent).join(' x ') + ', ' +
    bytes(t.element_bytes * t.dims.reduce((n, d) => n * d.extent, 1)) + (t.count > 1 ? ' in each layer' : '');
  byId('meshes').replaceChildren(...layouts.map((_, i) => drawMesh(i, which)));
  byId('rank-detail').textContent = 'Select a rank to see what it holds.';
}
layouts[0].tensors.forEach((t, i) => byId('tensor').append(element('option', {value: i, textContent: tensorName(t)})));
// At first the one that is split under most layouts: it shows most.
const splits = layouts[0].tensors.map((_, i) => layouts.filter((l) => l.tensors[i].dims.some((d) => d.split.length > 0)).length);
byId('tensor').value = String(splits.indexOf(Math.max(...splits)));
byId('tensor').addEventListener('change', drawMeshes);
drawMeshes();

// --- charts ----------------------------------------------------------------------------------------------------------

let zoom = 'whole step';
const passes = ['forward', 'backward', 'update'];
const longest = Math.max(...layouts.map((l) => l.timeline.seconds));
const unit = longest >= 1 ? ['s', 1] : longest >= 1e-3 ? ['ms', 1e3] : ['\u00b5s', 1e6];
const inUnit = (s) => s * unit[1];

// [begin, end] of a pass: its items on the rank and beside it.
function extentOf(l, pass) {
  const items = l.timeline.items.filter((x) => x.pass === pass && !x.beside);
  return items.length === 0 ? null : [items[0].begin, items[items.length - 1].end];
}

// Texts in bars that have room for them.
const barTexts = {
  id: 'barTexts',
  afterDatasetsDraw(chart) {
    const c = chart.ctx, area = chart.chartArea;
    c.save();
    c.font = '12px system-ui, "DejaVu Sans", sans-serif';
    c.textAlign = 'center';
    c.textBaseline = 'middle';
    chart.data.datasets.forEach((set, s) => chart.getDatasetMeta(s).data.forEach((bar, i) => {
      const text = set.data[i].text;
      if (!text) return;
      const left = Math.max(Math.min(bar.x, bar.base), area.left), right = Math.min(Math.max(bar.x, bar.base), area.right);
      if (right - left < c.measureText(text).width + 8) return;
      c.fillStyle = set.textColor;
      c.fillText(text, (left + right) / 2, bar.y);
    }));
    c.restore();
  },
};

function drawPrice() {
  const labels = layouts.map((_, i) => letters[i]);
  const largest = Math.max(...layouts.map((l) => Math.max(l.seconds, l.price.hidden)));
  const set = (label, color, value, stack) => ({
    label, backgroundColor: cssColor(color), data: layouts.map((l) => inUnit(value(l))), stack, barPercentage: 0.9, categoryPercentage: 0.75});
  const o = base();
  byId('price-box').style.height = 7 + 3.2 * layouts.length + 'rem';
  o.indexAxis = 'y';
  o.scales = {x: axis('time of a step [' + unit[0] + ']', {stacked: true, max: inUnit(largest) * 1.02, ticks: {includeBounds: false, callback: (v) => Number(v.toPrecision(4))}}),
    y: axis('layout', {stacked: true, grid: {display: false}})};
  o.plugins.tooltip.callbacks = {label: (c) => c.dataset.label + ': ' + seconds(c.raw / unit[1])};
  charts.push(new Chart(byId('price'), {
    type: 'bar', options: o,
    data: {labels, datasets: [
      set('products', 'product', (l) => l.price.products, 'step'),
      set('other kernels', 'kernel', (l) => l.price.kernels, 'step'),
      set('collectives that are waited for', 'collective', (l) => l.price.collectives - l.price.hidden, 'step'),
      set('hidden collectives', 'beside', (l) => l.price.hidden, 'hidden')]}}));
}

function detailOf(i, item) {
  const many = item.times > 1 ? ' in all: ' + item.times + ' times ' + seconds(item.seconds / item.times) : '';
  let text = letters[i] + ', ' + item.pass + ' pass. ' + itemName(item) + ': ';
  if (item.what === 'product' || item.what === 'kernel')
    text += (item.what === 'product' ? 'matrix products, ' + flops(item.flops) : 'kernels that move ' + bytes(item.bytes_moved)) +
      (item.times > 1 ? ' each time' : '') + ' (' + item.primitives.join(', ') + ')';
  else
    text += item.what + ' over ' + axesText(item.axes) + '; a rank sends ' + bytes(item.bytes_sent) + (item.times > 1 ? ' each time' : '') +
      (item.beside ? '; it goes on while the rank computes' : '');
  text += '; ' + seconds(item.seconds) + many;
  if (item.tensor) text += '; on ' + tensorText(item.tensor) + (item.partial.length ? ', partial over ' + item.partial.join(', ') : '');
  return text + '.';
}

function drawTimelines() {
  const end = inUnit(longest);
  byId('timelines').replaceChildren();
  layouts.forEach((l, i) => {
    const t = l.timeline;
    const set = (label, color, entries, textColor) => ({
      label, data: entries, backgroundColor: cssColor(color), textColor: cssColor(textColor), grouped: false, barPercentage: 0.92, categoryPercentage: 1,
      borderColor: cssColor('paper'), borderWidth: entries.length < 40 ? {left: 0.5, right: 0.5} : 0, borderSkipped: false});
    const bar = (row, begin, stop, text, item) => ({x: [inUnit(begin), inUnit(stop)], y: row, text, item});
    const passBars = passes.flatMap((p) => {
      const e = extentOf(l, p);
      return e ? [bar('pass', e[0], e[1], p)] : [];
    });
    const layerBars = t.loops.map((x) => bar('layers', x.begin, x.end, x.rounds + ' equal layers'));
    const items = (c) => t.items.filter((x) => classOf(x) === c).map((x) => bar(c === 'beside' ? 'beside' : 'rank', x.begin, x.end, itemName(x), x));
    const waits = t.wait.end > t.wait.begin ? [bar('rank', t.wait.begin, t.wait.end, 'waits', null)] : [];
    const o = base();
    o.indexAxis = 'y';
    o.interaction = {mode: 'nearest', intersect: true};
    const range = zoom === 'whole step' ? [0, end] : (extentOf(l, zoom) || [0, longest]).map(inUnit);
    o.scales = {
      x: axis('time since the step began [' + unit[0] + ']', {min: range[0], max: range[1], ticks: {maxRotation: 0, includeBounds: false, callback: (v) => Number(v.toPrecision(4))}}),
      y: axis('row', {grid: {display: false}}),
    };
    o.plugins.legend.display = false;
    o.plugins.tooltip.callbacks = {
      title: () => '',
      label: (c) => {
        const x = c.raw;
        if (!x.item) return (x.text || '') + ': ' + seconds((x.x[1] - x.x[0]) / unit[1]);
        return [itemName(x.item), className[classOf(x.item)] + (x.item.axes ? ' over ' + x.item.axes.join(', ') : '') + ', ' +
          seconds(x.item.seconds) + (x.item.times > 1 ? ' (' + x.item.times + ' times)' : '')];
      },
    };
    o.onClick = (_, hit) => {
      if (hit.length === 0) return;
      const x = charts.find((c) => c.canvas.id === 'timeline-' + i).data.datasets[hit[0].datasetIndex].data[hit[0].index];
      byId('item-detail').textContent = x.item ? detailOf(i, x.item)
        : letters[i] + ', ' + (x.text === 'waits' ? 'the rank waits for collectives that were started in the backward pass' : x.text) + ': ' + seconds((x.x[1] - x.x[0]) / unit[1]) + '.';
    };
    const canvas = element('canvas', {id: 'timeline-' + i});
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', 'Timeline of layout ' + letters[i]);
    const over = t.seconds - l.seconds;
    byId('timelines').append(heading(i), element('div', {className: 'chart timeline'}, canvas),
      element('p', {className: 'note', textContent: 'The step ends after ' + seconds(t.seconds) + (over > 0.005 * l.seconds
        ? '. That is ' + seconds(over) + ' more than the price: here collectives hide only behind what comes after them, the price lets them hide behind all of the backward pass.' : '.')}));
    charts.push(new Chart(canvas, {
      type: 'bar', options: o, plugins: [barTexts],
      data: {labels: ['pass', ...(t.loops.length > 0 ? ['layers'] : []), 'rank', 'beside'], datasets: [
        set('pass', 'pass', passBars, 'ink'), set('layers', 'layers', layerBars, 'ink'),
        set('products', 'product', items('product'), 'paper'), set('other kernels', 'kernel', items('kernel'), 'paper'),
        set('collectives', 'collective', items('collective'), 'paper'),
        set('hidden collectives', 'beside', items('beside'), 'ink'), set('waiting', 'wait', waits, 'paper')]}}));
  });
}

// At most about 2 `most` points of a staircase: of each stretch of time the least and the most.
function thinned(points, most) {
  if (points.length <= 2 * most) return points;
  const stretch = Math.ceil(points.length / most), out = [];
  for (let i = 0; i < points.length; i += stretch) {
    const part = points.slice(i, i + stretch);
    const low = part.reduce((a, b) => (b[1] < a[1] ? b : a)), high = part.reduce((a, b) => (b[1] > a[1] ? b : a));
    out.push(...(low[0] <= high[0] ? [low, high] : [high, low]));
  }
  return out;
}

function drawMemory() {
  const largest = Math.max(...layouts.map((l) => l.peak_bytes));
  const size = largest >= 1e9 ? ['GB', 1e9] : largest >= 1e6 ? ['MB', 1e6] : ['kB', 1e3];
  const peakOf = (l) => l.timeline.memory.reduce((a, b) => (b[1] > a[1] ? b : a));
  const sets = layouts.flatMap((l, i) => {
    const line = thinned(l.timeline.memory, 1500).map(([t, b]) => ({x: inUnit(t), y: b / size[1]}));
    line.push({x: inUnit(l.timeline.seconds), y: line[line.length - 1].y});
    const peak = peakOf(l);
    return [
      {label: letters[i], data: line, borderColor: layoutColor(i), backgroundColor: layoutColor(i), borderWidth: 1.6, stepped: true, pointRadius: 0},
      {label: letters[i] + ' peak', data: [{x: inUnit(peak[0]), y: peak[1] / size[1]}], borderColor: layoutColor(i), backgroundColor: layoutColor(i), pointRadius: 5, showLine: false},
    ];
  });
  const full = machine.memory && machine.memory < 1.6 * largest;
  if (full) sets.push({label: 'memory of a rank', data: [{x: 0, y: machine.memory / size[1]}, {x: inUnit(longest), y: machine.memory / size[1]}],
    borderColor: cssColor('wait'), backgroundColor: cssColor('wait'), borderDash: [6, 4], borderWidth: 1.5, pointRadius: 0});
  byId('memory-note').textContent = 'Peaks: ' + layouts.map((l, i) => letters[i] + ' ' + bytes(l.peak_bytes)).join(', ') + '.' +
    (machine.memory ? ' A rank has ' + bytes(machine.memory) + '.' : '');
  const o = base();
  o.scales = {
    x: axis('time since the step began [' + unit[0] + ']', {type: 'linear', min: 0, max: inUnit(longest), ticks: {maxRotation: 0, includeBounds: false, callback: (v) => Number(v.toPrecision(4))}}),
    y: axis('memory of tensors on a rank [' + size[0] + ']', {beginAtZero: true}),
  };
  o.plugins.legend.labels = {usePointStyle: true, pointStyle: 'line', filter: (x) => !x.text.endsWith(' peak')};
  o.plugins.tooltip = {mode: 'nearest', intersect: false, callbacks: {
    title: (c) => seconds(c[0].raw.x / unit[1]) + ' after the step began', label: (c) => c.dataset.label + ': ' + bytes(c.raw.y * size[1])}};
  charts.push(new Chart(byId('memory'), {type: 'line', data: {datasets: sets}, options: {...o, parsing: false, normalized: true}}));
}

function drawBytes() {
  const sumOf = (l) => {
    const rows = new Map();
    for (const c of l.collectives) {
      const name = [c.operation || 'copies', ...c.parameters.map((p) => p.replace(/^.*\./, ''))].join(' ') + (c.pass === 'forward' ? '' : ', ' + c.pass);
      const over = c.axes.join('+');
      if (!rows.has(name)) rows.set(name, {name, sum: 0, axes: {}});
      const r = rows.get(name);
      r.sum += c.times * c.bytes_sent;
      r.axes[over] = (r.axes[over] || 0) + c.times * c.bytes_sent;
    }
    const sorted = [...rows.values()].sort((a, b) => b.sum - a.sum), most = 9;
    if (sorted.length <= most + 1) return sorted;
    const rest = {name: (sorted.length - most) + ' others', sum: 0, axes: {}};
    for (const r of sorted.slice(most)) {
      rest.sum += r.sum;
      for (const [a, n] of Object.entries(r.axes)) rest.axes[a] = (rest.axes[a] || 0) + n;
    }
    return [...sorted.slice(0, most), rest];
  };
  const sums = layouts.map(sumOf);
  const largest = Math.max(0, ...sums.flat().map((r) => r.sum));
  const size = largest >= 1e9 ? ['GB', 1e9] : largest >= 1e6 ? ['MB', 1e6] : largest >= 1e3 ? ['kB', 1e3] : ['B', 1];
  const axesUsed = [...new Set(sums.flat().flatMap((r) => Object.keys(r.axes)))].sort();
  const colors = ['#e8890c', '#2f6fde', '#35a79c', '#9333ea', '#d64550', '#7c8798', '#b59f1b', '#0e7490'];
  byId('bytes').replaceChildren();
  sums.forEach((rows, i) => {
    if (rows.length === 0) {
      byId('bytes').append(element('div', {className: 'card'}, heading(i), element('p', {textContent: 'Nothing is sent.'})));
      return;
    }
    const canvas = element('canvas', {id: 'bytes-' + i});
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', 'Bytes sent by operation, layout ' + letters[i]);
    const box = element('div', {className: 'chart'}, canvas);
    box.style.height = 6.5 + 1.7 * rows.length + 'rem';
    byId('bytes').append(element('div', {className: 'card'}, heading(i), element('p', {className: 'note', textContent:
      bytes(layouts[i].bytes_sent) + ' in ' + layouts[i].collective_count + ' collectives'}), box));
    const o = base();
    o.indexAxis = 'y';
    o.scales = {x: axis('bytes sent by a rank [' + size[0] + ']', {stacked: true, max: largest / size[1], ticks: {includeBounds: false, callback: (v) => Number(v.toPrecision(3))}}),
      y: {stacked: true, title: {display: true, text: 'operation'}, grid: {display: false}, ticks: {autoSkip: false, font: {size: 11}, callback(v) { const s = this.getLabelForValue(v), most = Math.floor(canvas.clientWidth * 0.065) - 4; return s.length > most ? s.slice(0, most - 1) + '\u2026' : s; }}}};
    o.plugins.tooltip.callbacks = {label: (c) => 'over ' + c.dataset.label + ': ' + bytes(c.raw * size[1])};
    charts.push(new Chart(canvas, {type: 'bar', options: o, data: {labels: rows.map((r) => r.name),
      datasets: axesUsed.map((a, n) => ({label: a, backgroundColor: colors[n % colors.length], data: rows.map((r) => (r.axes[a] || 0) / size[1])}))
        .filter((s) => s.data.some((x) => x > 0))}}));
  });
}

function draw() {
  clearCharts();
  byId('time-legend').replaceChildren(...[['product', 'products'], ['kernel', 'other kernels'], ['collective', 'collectives'],
    ['beside', 'collectives beside computing'], ['wait', 'waiting']].map(([color, text]) => {
    const square = element('i', {});
    square.style.background = cssColor(color);
    return element('span', {}, square, text);
  }));
  drawPrice();
  drawTimelines();
  drawMemory();
  drawBytes();
}

for (const part of ['whole step', ...passes]) {
  const b = element('button', {type: 'button', textContent: part});
  b.setAttribute('aria-pressed', String(part === zoom));
  b.addEventListener('click', () => {
    zoom = part;
    for (const other of byId('zoom').children) other.setAttribute('aria-pressed', String(other === b));
    draw();
  });
  byId('zoom').append(b);
}
draw();
drawAgainInOtherColours(draw);

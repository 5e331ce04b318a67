'use strict';
// What the pages share: the data in #data, words for numbers, the style of charts.
const data = JSON.parse(document.getElementById('data').textContent);
const byId = (id) => document.getElementById(id);
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

function element(name, properties, ...children) {
  const e = Object.assign(document.createElement(name), properties);
  e.append(...children);
  return e;
}
function scaled(x, units, factor) {
  let u = 0;
  while (x >= factor && u + 1 < units.length) x /= factor, ++u;
  return (x === 0 ? '0' : x >= 100 ? x.toFixed(0) : x.toPrecision(3)) + ' ' + units[u];
}
const bytes = (n) => scaled(n, ['B', 'kB', 'MB', 'GB', 'TB'], 1000);
const flops = (n) => scaled(n, ['FLOP', 'kFLOP', 'MFLOP', 'GFLOP', 'TFLOP', 'PFLOP'], 1000);
const seconds = (s) => (s === 0 ? '0 s' : scaled(s * 1e9, ['ns', '\u00b5s', 'ms', 's'], 1000));

const charts = [];
function base() {
  return {
    animation: false, responsive: true, maintainAspectRatio: false,
    plugins: {legend: {position: 'bottom', labels: {boxWidth: 14}}, tooltip: {mode: 'nearest', intersect: true}},
  };
}
const axis = (text, more = {}) => ({title: {display: true, text}, grid: {color: cssColor('line')}, ...more});
// To draw anew: the colours are those of now.
function clearCharts() {
  while (charts.length > 0) charts.pop().destroy();
  Chart.defaults.color = cssColor('soft');
  Chart.defaults.font.family = 'system-ui, "DejaVu Sans", sans-serif';
}
const drawAgainInOtherColours = (draw) => matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);

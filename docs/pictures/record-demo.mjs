// Runs `npm run demo` and draws what it prints, line by line at its time, as an animated picture: docs/pictures/demo.svg.
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const LINES_SHOWN = 22;
const LINE_HEIGHT = 18;
const COLUMNS = 82;
/** Pauses are shortened to this, and the last picture stays for as long as the second. */
const LONGEST_PAUSE_MS = 1200;
const LAST_MS = 6000;

const demo = spawn('npm', ['run', '--silent', 'demo'], {
  cwd: fileURLToPath(new URL('../..', import.meta.url)),
  stdio: ['ignore', 'pipe', 'inherit'],
  env: { ...process.env, NO_COLOR: '1' },
});
const lines = [{ text: '$ npm run demo', atMs: 0 }];
let clockMs = 600;
let last = Date.now();
let rest = '';
let isOver = false;
demo.stdout.setEncoding('utf8').on('data', (text) => {
  const now = Date.now();
  clockMs += Math.min(now - last, LONGEST_PAUSE_MS);
  last = now;
  const parts = (rest + text).split('\n');
  rest = parts.pop() ?? '';
  for (const line of parts) {
    // The trajectory that follows names paths of the machine.
    if (line.startsWith('$ holdfast trajectory')) isOver = true;
    if (!isOver) lines.push({ text: line.slice(0, COLUMNS), atMs: clockMs });
  }
});
const code = await new Promise((done) => demo.on('close', done));
if (code !== 0) throw new Error(`The demo ended with ${code}.`);
while (lines.at(-1)?.text === '') lines.pop();

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const kind = (text) => {
  if (text.startsWith('$ ')) return 'command';
  if (/KILL -9/.test(text)) return 'kill';
  if (/ (restart|recovered) /.test(text)) return 'back';
  if (/ (question|decision|paused) /.test(text)) return 'person';
  return 'plain';
};

const totalMs = clockMs + LAST_MS;
const percent = (ms) => `${((100 * ms) / totalMs).toFixed(3)}%`;
// The window moves up by one line whenever a line comes that does not fit.
const moves = lines.flatMap(({ atMs }, index) =>
  index < LINES_SHOWN ? [] : [{ atMs, y: -(index + 1 - LINES_SHOWN) * LINE_HEIGHT }],
);
const positions = new Map([[percent(0), 0], ...moves.map(({ atMs, y }) => [percent(atMs), y])]);
const scroll = [...positions].map(([at, y]) => `${at}{transform:translateY(${y}px)}`).join('');
const times = [...new Set(lines.map(({ atMs }) => atMs))];
const appear = times
  .map((atMs, index) => `@keyframes t${index}{${index === 0 ? '' : '0%{opacity:0}'}${percent(atMs)},100%{opacity:1}}`)
  .join('');
const classes = times.map((_, index) => `.t${index}{animation:t${index} ${totalMs}ms step-end infinite}`).join('');
const width = COLUMNS * 8.4 + 32;
const height = LINES_SHOWN * LINE_HEIGHT + 32;
const rows = lines.map(
  ({ text, atMs }, index) =>
    `<text x="0" y="${(index + 1) * LINE_HEIGHT - 4}" class="${kind(text)} t${times.indexOf(atMs)}">${escaped(text)}</text>`,
);
writeFileSync(
  new URL('demo.svg', import.meta.url),
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title">
<title id="title">The demo: an agent pays expense reports, and its server is killed three times</title>
<style>
rect{fill:#0d1117}text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;white-space:pre;fill:#c9d1d9}
.command{fill:#f0f6fc;font-weight:bold}.kill{fill:#ff7b72;font-weight:bold}.back{fill:#7ee787}.person{fill:#e3b341}
.scroll{animation:scroll ${totalMs}ms step-end infinite}
@keyframes scroll{${scroll}100%{transform:translateY(${moves.at(-1)?.y ?? 0}px)}}
${classes}
${appear}
@media (prefers-reduced-motion:reduce){.scroll,text{animation:none}.scroll{transform:translateY(${moves.at(-1)?.y ?? 0}px)}}
</style>
<rect width="${width}" height="${height}" rx="8"/>
<svg x="16" y="14" width="${width - 32}" height="${height - 30}" overflow="hidden"><g class="scroll">
${rows.join('\n')}
</g></svg>
</svg>
`,
);
console.log(`docs/pictures/demo.svg: ${lines.length} lines, ${Math.round(totalMs / 1000)} s`);

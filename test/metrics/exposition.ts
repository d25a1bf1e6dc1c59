/**
 * Reads the text format 0.0.4 of Prometheus strictly, and judges names as `promtool check metrics` does. Whatever is not as it must be
 * is a problem, by its line.
 */

export interface Sample {
  readonly name: string;
  readonly labels: { readonly [name: string]: string };
  readonly value: number;
}

export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const NAME = /^[a-z_:][a-z0-9_:]*$/;
const LABEL = /^[a-z_][a-z0-9_]*$/;
const TYPES = new Set(['counter', 'gauge', 'histogram', 'summary', 'untyped']);
const SUFFIXES = ['_bucket', '_sum', '_count'];
const UNITS =
  /_(ms|millis|milliseconds|micros|nanos|minutes|hours|days|kb|mb|gb|kilobytes|megabytes|percent|pct|s|sec)(_|$)/;

const numberOf = (text: string): number =>
  text === '+Inf' ? Number.POSITIVE_INFINITY : text === 'Nan' || text === 'NaN' ? Number.NaN : Number(text);

function labelsOf(text: string, at: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let rest = text;
  while (rest !== '') {
    const match = /^([^=,{}"]+)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/.exec(rest);
    if (match === null) throw new Error(`${at}: labels cannot be read: ${rest}`);
    const [whole, name = '', value = ''] = match;
    if (!LABEL.test(name) || name in labels) throw new Error(`${at}: the label ${name} is none, or is there twice`);
    labels[name] = value.replaceAll(/\\(["\\n])/g, (_all, char: string) => (char === 'n' ? '\n' : char));
    rest = rest.slice(whole.length);
  }
  return labels;
}

function sampleOf(line: string, family: Family, at: string): Sample {
  const sample = /^([^\s{]+)(?:\{(.*)\})? (\S+)$/.exec(line);
  if (sample === null) throw new Error(`${at}: ${line}`);
  const [, name = '', labels = '', value = ''] = sample;
  const own = family.type === 'histogram' ? SUFFIXES.map((suffix) => `${family.name}${suffix}`) : [family.name];
  if (!own.includes(name)) throw new Error(`${at}: ${name} stands below ${family.name}`);
  if (!/^(NaN|Nan|[+-]?Inf|[+-]?\d+(\.\d+)?(e[+-]?\d+)?)$/.test(value)) throw new Error(`${at}: ${value} is no number`);
  return { name, labels: labelsOf(labels, at), value: numberOf(value) };
}

/** Throws at the first line that is not of the format. */
export function parseExposition(text: string): readonly Family[] {
  if (!text.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Family>();
  let help: { readonly name: string; readonly text: string } | null = null;
  let family: Family | null = null;
  const seen = new Set<string>();
  for (const [index, line] of text.slice(0, -1).split('\n').entries()) {
    const at = `line ${index + 1}`;
    if (line === '') continue;
    const helped = /^# HELP (\S+) (.+)$/.exec(line);
    if (helped !== null) {
      help = { name: helped[1] ?? '', text: helped[2] ?? '' };
      if (families.has(help.name)) throw new Error(`${at}: ${help.name} is there twice`);
      continue;
    }
    const typed = /^# TYPE (\S+) (\S+)$/.exec(line);
    if (typed !== null) {
      const [, name = '', type = ''] = typed;
      if (help?.name !== name) throw new Error(`${at}: ${name} has no help before its type`);
      if (!TYPES.has(type) || !NAME.test(name)) throw new Error(`${at}: ${name} ${type} is no metric`);
      family = { name, type, help: help.text, samples: [] };
      families.set(name, family);
      continue;
    }
    if (family === null) throw new Error(`${at}: ${line}`);
    const parsed = sampleOf(line, family, at);
    const key = `${parsed.name} ${JSON.stringify(Object.entries(parsed.labels).toSorted())}`;
    if (seen.has(key)) throw new Error(`${at}: ${key} is there twice`);
    seen.add(key);
    family.samples.push(parsed);
  }
  return [...families.values()];
}

/** What is wrong with families that can be read. */
export function problemsOf(families: readonly Family[]): readonly string[] {
  return families.flatMap((family) =>
    [...namingOf(family), ...numbersOf(family)].map((what) => `${family.name}: ${what}`),
  );
}

function namingOf({ name, type, help, samples }: Family): readonly string[] {
  return [
    ...(help.trim() === '' ? ['it has no help'] : []),
    ...(type === 'counter' && !name.endsWith('_total') ? ['a counter ends with _total'] : []),
    ...(type !== 'counter' && name.endsWith('_total') ? ['only a counter ends with _total'] : []),
    ...(SUFFIXES.some((suffix) => name.endsWith(suffix)) ? ['its end is of samples of a histogram'] : []),
    ...(UNITS.test(name) ? ['it is not in a base unit'] : []),
    ...(new RegExp(`_(${[...TYPES].join('|')})(_|$)`).test(name) ? ['its name has its type in it'] : []),
    ...(/[A-Z:]/.test(name) ? ['its name has capitals or colons'] : []),
    ...(type !== 'summary' && samples.some(({ labels }) => 'quantile' in labels) ? ['quantile is of summaries'] : []),
    ...(type !== 'histogram' && samples.some(({ labels }) => 'le' in labels) ? ['le is of histograms'] : []),
  ];
}

function numbersOf({ name, type, samples }: Family): readonly string[] {
  if (type === 'counter') return samples.flatMap(({ value }) => (value >= 0 ? [] : [`a counter is ${value}`]));
  if (type !== 'histogram') return samples.flatMap(({ value }) => (Number.isNaN(value) ? ['it is no number'] : []));
  const series = new Map<string, { buckets: [number, number][]; count: number | null; sum: number | null }>();
  for (const { name: own, labels, value } of samples) {
    const { le, ...others } = labels;
    const key = JSON.stringify(others);
    const one = series.get(key) ?? { buckets: [], count: null, sum: null };
    series.set(key, one);
    if (own === `${name}_bucket`) one.buckets.push([numberOf(le ?? ''), value]);
    if (own === `${name}_count`) one.count = value;
    if (own === `${name}_sum`) one.sum = value;
  }
  return [...series.entries()].flatMap(([key, { buckets, count, sum }]) => {
    const rises = buckets.every(
      ([le, n], i) => i === 0 || (le > (buckets[i - 1]?.[0] ?? 0) && n >= (buckets[i - 1]?.[1] ?? 0)),
    );
    const [lastLe, lastN] = buckets.at(-1) ?? [0, null];
    const whole = rises && lastLe === Number.POSITIVE_INFINITY && lastN === count && sum !== null;
    return whole ? [] : [`the histogram ${key} is not whole`];
  });
}

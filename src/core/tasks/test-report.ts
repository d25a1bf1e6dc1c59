/** What a runner of tests reports, in the forms that runners write. Whatever is not whole counts as nothing. */

/** How many tests there were. A test that was skipped has not passed. */
export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** A report that says nothing, with why. */
export interface NoReport {
  readonly why: string;
}

const no = (why: string): NoReport => ({ why });

/** The last line of a runner of ours: the sentinel, then the three counts. */
export function countsAfter(report: string, sentinel: string): TestCounts | NoReport {
  const last = report.trimEnd().split('\n').at(-1) ?? '';
  const [first, ...counts] = last.split(' ');
  const [passed, failed, skipped] = counts.map((count) => (/^\d{1,9}$/.test(count) ? Number(count) : null));
  if (sentinel === '' || first !== sentinel || passed == null || failed == null || skipped == null)
    return no('its runner did not come to its end');
  return { passed, failed, skipped };
}

/**
 * The events of `go tool test2json` of one or more packages, one after the other. Each ends with the sentinel. Tests of other names do not
 * count.
 */
export function countsOfGo(
  report: string,
  sentinel: string,
  { packages, names }: { readonly packages: readonly string[]; readonly names: readonly string[] },
): TestCounts | NoReport {
  const known = new Set(names);
  const ended = new Map<string, { readonly counts: Record<string, number>; isWhole: boolean }>();
  for (const line of report.split('\n')) {
    const event = goEvent(line);
    if (event === null) continue;
    const one = ended.get(event.package) ?? { counts: { pass: 0, fail: 0, skip: 0 }, isWhole: false };
    ended.set(event.package, one);
    if (event.test === null) {
      if (event.output === `${sentinel}\n`) one.isWhole = true;
    } else if (known.has(event.test) && event.action in one.counts) {
      // What comes behind the sentinel was not said by the runner.
      if (one.isWhole) return no('something was reported behind the end of its runner');
      one.counts[event.action] = (one.counts[event.action] ?? 0) + 1;
    }
  }
  if (sentinel === '' || packages.some((one) => ended.get(one)?.isWhole !== true))
    return no('its runner did not come to its end');
  const sum = (what: string): number => [...ended.values()].reduce((all, { counts }) => all + (counts[what] ?? 0), 0);
  return { passed: sum('pass'), failed: sum('fail'), skipped: sum('skip') };
}

function goEvent(line: string) {
  try {
    const said: unknown = JSON.parse(line);
    if (typeof said !== 'object' || said === null) return null;
    const { Action, Package, Test, Output } = said as Readonly<Record<string, unknown>>;
    if (typeof Action !== 'string' || typeof Package !== 'string') return null;
    return {
      ...{ action: Action, package: Package },
      ...{ test: typeof Test === 'string' ? Test : null, output: typeof Output === 'string' ? Output : null },
    };
  } catch {
    return null;
  }
}

const TAP_LINE = /^(not )?ok\b(?:\s+(\d+))?[^#]*(?:#\s*(skip|todo)\b.*)?/i;
const TAP_PLAN = /^1\.\.(\d+)\b/;

/** TAP 12 to 14. The plan must be there, and as many results as it says, each once. Results of subtests are those of their test. */
export function countsOfTap(report: string): TestCounts | NoReport {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const numbers = new Set<number>();
  let plan: number | null = null;
  let last = 0;
  for (const line of report.split('\n')) {
    if (/^Bail out!/i.test(line)) return no('it says that it bails out');
    const planned = TAP_PLAN.exec(line);
    if (planned !== null) {
      if (plan !== null) return no('it has two plans');
      plan = Number(planned[1]);
    }
    const result = TAP_LINE.exec(line);
    if (result === null) continue;
    last = result[2] === undefined ? last + 1 : Number(result[2]);
    if (numbers.has(last)) return no(`it has two results ${last}`);
    numbers.add(last);
    if (result[3] !== undefined) counts.skipped += 1;
    else if (result[1] === undefined) counts.passed += 1;
    else counts.failed += 1;
  }
  if (plan === null) return no('it has no plan, such as 1..3');
  if (numbers.size !== plan) return no(`it has ${numbers.size} results where it plans ${plan}`);
  return counts;
}

const NAMED = /[\w.:-]+/y;
/** What is no element, by how it begins, and how each ends. */
const SKIPPED = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
  ['<!', '>'],
] as const;

interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly isEmpty: boolean;
}

/** The tags of an XML text, in one pass. Ends with null where the text is not whole. */
function* tagsOf(text: string): Generator<Tag | null> {
  for (let at = text.indexOf('<'); at >= 0; at = text.indexOf('<', at)) {
    const skipped = SKIPPED.find(([begin]) => text.startsWith(begin, at));
    const end = skipped === undefined ? endOfTag(text, at) : text.indexOf(skipped[1], at + skipped[0].length);
    if (end < 0) return yield null;
    if (skipped === undefined) {
      const isEnd = text[at + 1] === '/';
      NAMED.lastIndex = at + (isEnd ? 2 : 1);
      const [name] = NAMED.exec(text) ?? [];
      if (name === undefined) return yield null;
      yield { name, isEnd, isEmpty: text[end - 1] === '/' };
    }
    at = end + (skipped?.[1].length ?? 1);
  }
}

/** Where a tag ends that begins at `from`: behind the quotes of its attributes. */
function endOfTag(text: string, from: number): number {
  for (let at = from + 1, quote = ''; at < text.length; at++) {
    const one = text.charAt(at);
    if (quote !== '') quote = one === quote ? '' : quote;
    else if (one === '"' || one === "'") quote = one;
    else if (one === '>') return at;
  }
  return -1;
}

interface Edge {
  readonly name: string;
  readonly isBegin: boolean;
}

/** Where the elements of a JUnit report begin and end. Ends with null where the text is not whole. */
function* edgesOf(report: string): Generator<Edge | null> {
  const open: string[] = [];
  let roots = 0;
  for (const tag of tagsOf(report)) {
    if (tag === null) return yield null;
    const { name, isEnd, isEmpty } = tag;
    if (!isEnd) {
      if (open.length === 0 && (++roots > 1 || !ROOT.test(name))) return yield null;
      if (open.push(name) > DEEPEST) return yield null;
      yield { name, isBegin: true };
    }
    if (isEnd || isEmpty) {
      if (open.pop() !== name) return yield null;
      yield { name, isBegin: false };
    }
  }
  if (roots === 0 || open.length > 0) yield null;
}

/** JUnit's XML. Each `testcase` counts; one with a `failure` or an `error` has failed, and one with `skipped` was skipped. */
export function countsOfJunit(report: string): TestCounts | NoReport {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  /** How the test case that is open ends. */
  let end: keyof typeof counts | null = null;
  for (const edge of edgesOf(report)) {
    if (edge === null || (edge.name === CASE && edge.isBegin && end !== null)) return no('it is no whole JUnit report');
    if (edge.name === CASE) {
      if (end !== null) counts[end] += 1;
      end = edge.isBegin ? 'passed' : null;
    } else if (end !== null && edge.isBegin) {
      if (edge.name === 'failure' || edge.name === 'error') end = 'failed';
      else if (edge.name === 'skipped' && end === 'passed') end = 'skipped';
    }
  }
  return counts;
}

const CASE = 'testcase';
const ROOT = /^testsuites?$/;
/** Elements within each other. */
const DEEPEST = 100;

/** How much of a test passed by its counts; `expected`: as many tests there must be. No tests are nothing. */
export function shareByCounts(
  counts: TestCounts,
  expected: number | null,
): { readonly share: number; readonly why: string } {
  const { passed, failed, skipped } = counts;
  const ran = passed + failed + skipped;
  const all = Math.max(ran, expected ?? 0);
  const said = `${passed} passed, ${failed} failed, ${skipped} skipped`;
  const why = expected !== null && ran !== expected ? `${said}, where ${expected} are expected` : said;
  if (all === 0 || ran === 0) return { share: 0, why: `no test ran: ${why}` };
  // More than there are were not all written by the task.
  return { share: expected !== null && ran > expected ? 0 : passed / all, why };
}

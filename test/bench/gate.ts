import type { Figure } from './figures.js';

/** A ratio as docs/operate/measurements.md has it. */
export interface DocumentedRatio {
  readonly row: string;
  readonly figure: string;
  /** The other side, where the page names it; null: that of the row. */
  readonly against: string | null;
  readonly least: number;
  readonly most: number;
}

/** How much worse than the worst documented ratio one may be: machines differ. */
const TOLERANCE = 0.1;

const LINE =
  /^\| `([\w-]+)`(?: \([^)]*\))? \| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \| ([\d.]+)(?: \(([\d.]+)\.\.([\d.]+)\))? \|/;

/** The ratios of the tables of the page. */
export const documentedRatios = (page: string): readonly DocumentedRatio[] =>
  page.split('\n').flatMap((line) => {
    const [, row, figure = '', theirs = '', median, least = median, most = median] = LINE.exec(line) ?? [];
    if (row === undefined) return [];
    const against = /\(([^\d(][^()]*)\)$/.exec(theirs.trim())?.[1]?.replaceAll('`', '') ?? null;
    return [{ row, figure: figure.trim(), against, least: Number(least), most: Number(most) }];
  });

const isMoreBetter = ({ unit }: Figure): boolean => unit.endsWith('/s') && unit !== 'transactions/s';

/** Says which figures are worse than the page; those that the page does not have are not judged. */
export function worseThanDocumented(
  figures: readonly Figure[],
  documented: readonly DocumentedRatio[],
): { readonly judged: number; readonly worse: readonly string[] } {
  const judged = figures.flatMap((figure) => {
    const lines = documented.filter((one) => one.row === figure.row && one.figure === figure.figure);
    const line = lines.find(({ against }) => against === figure.against) ?? (lines.length === 1 ? lines[0] : undefined);
    return line === undefined ? [] : [{ figure, line }];
  });
  const worse = judged.flatMap(({ figure, line }) => {
    const { median } = figure.ratio;
    const name = `${figure.row}, ${figure.figure}, against ${figure.against}: ${median.toFixed(2)}`;
    if (isMoreBetter(figure))
      return median < line.least * (1 - TOLERANCE) ? [`${name}, where the page says at least ${line.least}`] : [];
    return median > line.most * (1 + TOLERANCE) ? [`${name}, where the page says at most ${line.most}`] : [];
  });
  return { judged: judged.length, worse };
}

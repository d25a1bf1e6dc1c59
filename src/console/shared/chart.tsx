import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Text } from '../text/text.js';
import { Table } from './table.js';

export interface ChartLine {
  readonly key: string;
  readonly points: readonly (number | null)[];
  readonly total: number | null;
}

interface ChartProps {
  readonly name: string;
  /** What stands below each point. */
  readonly labels: readonly string[];
  readonly lines: readonly ChartLine[];
  /** `bars`: stacked sums. `lines`: measures beside each other. */
  readonly kind: 'bars' | 'lines';
  readonly text: (value: number) => string;
  /** Tones by key; others take the colours in their order. */
  readonly tones?: { readonly [key: string]: string };
}

const WIDTH = 600;
const HEIGHT = 120;

const ORDER = ['running', 'done', 'waiting', 'unknown', 'failed', 'quiet'] as const;

/** A series as a picture, and as a table for those who read. */
export function Chart({ name, labels, lines: all, kind, text, tones = {} }: ChartProps): JSX.Element {
  const lines = all.filter(({ total }) => total !== 0);
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  const toneOf = (key: string, at: number): string => tones[key] ?? ORDER[at % ORDER.length] ?? 'quiet';
  return (
    <section class="card chart" aria-labelledby={id}>
      <p class="row">
        <h2 id={id}>{name}</h2>
        <span class="fill" />
        {lines.length > 0 && (
          <button type="button" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
            Table
          </button>
        )}
      </p>
      {lines.length === 0 && <p class="note">There is nothing to draw.</p>}
      {lines.length > 0 && asTable && <Numbers name={name} labels={labels} lines={lines} text={text} />}
      {lines.length > 0 && !asTable && (
        <>
          <Picture name={name} labels={labels} lines={lines} kind={kind} text={text} toneOf={toneOf} />
          <ul class="row wrap keys">
            {lines.map(({ key, total }, at) => (
              <li key={key} class={`key tone-${toneOf(key, at)} pattern-${Math.floor(at / ORDER.length)}`}>
                <Text text={key} /> {total !== null && <span class="faint">{text(total)}</span>}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

type Drawn = Pick<ChartProps, 'name' | 'labels' | 'lines' | 'kind' | 'text'> & {
  readonly toneOf: (key: string, at: number) => string;
};

function Picture({ name, labels, lines, kind, text, toneOf }: Drawn): JSX.Element {
  const count = labels.length;
  const step = WIDTH / Math.max(1, count);
  const sums = labels.map((_label, at) => lines.reduce((sum, { points }) => sum + (points[at] ?? 0), 0));
  const values = kind === 'bars' ? sums : lines.flatMap(({ points }) => points.map((one) => one ?? 0));
  const most = Math.max(...values, 1e-9);
  const tall = (value: number): number => (value / most) * HEIGHT;
  const said = `${name}: from ${labels[0]} to ${labels.at(-1)}, at most ${text(most)}. The table has the numbers.`;
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={said} preserveAspectRatio="none">
        {kind === 'bars'
          ? labels.map((label, at) => {
              let foot = HEIGHT;
              return (
                <g key={label}>
                  <title>{`${label}: ${text(sums[at] ?? 0)}`}</title>
                  {lines.map(({ key, points }, place) => {
                    const height = tall(points[at] ?? 0);
                    foot -= height;
                    return height === 0 ? null : (
                      <rect
                        key={key}
                        class={`tone-${toneOf(key, place)}`}
                        x={at * step + step * 0.1}
                        width={step * 0.8}
                        y={foot}
                        height={height}
                      />
                    );
                  })}
                </g>
              );
            })
          : lines.map(({ key, points }, place) => (
              <g key={key} class={`tone-${toneOf(key, place)}`}>
                {points.map((value, at) => {
                  if (value === null) return null;
                  const [x, y] = [(at + 0.5) * step, HEIGHT - tall(value)];
                  const next = points[at + 1];
                  return (
                    <g key={labels[at]}>
                      <title>{`${labels[at]}, ${key}: ${text(value)}`}</title>
                      {typeof next === 'number' && <line x1={x} y1={y} x2={x + step} y2={HEIGHT - tall(next)} />}
                      <rect x={x - step * 0.1} width={step * 0.2} y={Math.max(0, y - 3)} height={6} />
                    </g>
                  );
                })}
              </g>
            ))}
      </svg>
      <figcaption class="row faint">
        <span>{labels[0]}</span>
        <span class="fill middle">at most {text(most)}</span>
        <span>{labels.at(-1)}</span>
      </figcaption>
    </figure>
  );
}

const Numbers = ({ name, labels, lines, text }: Pick<Drawn, 'name' | 'labels' | 'lines' | 'text'>): JSX.Element => (
  <Table name={name} columns={{ Begins: 'text', ...Object.fromEntries(lines.map(({ key }) => [key, 'number'])) }}>
    {labels.map((label, at) => (
      <tr key={label}>
        <td>{label}</td>
        {lines.map(({ key, points }) => {
          const value = points[at] ?? null;
          return (
            <td key={key} class="number">
              {value === null ? '–' : text(value)}
            </td>
          );
        })}
      </tr>
    ))}
  </Table>
);

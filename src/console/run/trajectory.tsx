import type { JSX } from 'preact';
import type { ShownTrajectory } from '../../core/trajectories/trajectory.js';
import { useAnswer } from '../api/query.js';
import { Table } from '../shared/table.js';
import { Unanswered } from '../shared/trouble.js';
import { exactText } from '../text/exact.js';
import { Text } from '../text/text.js';
import { countText, durationText } from '../text/words.js';

type Step = ShownTrajectory['steps'][number];

const actionOf = ({ action }: Step): string =>
  action.calls.length > 0
    ? action.calls.map(({ tool, arguments: given }) => `${tool}(${exactText(given)})`).join(', ')
    : (action.text ?? action.type);

const score = (value: number | null): string => (value === null ? '–' : value.toFixed(2));

const COLUMNS = {
  Step: 'number',
  Action: 'text',
  Observation: 'text',
  Reward: 'number',
  Latency: 'number',
  Tokens: 'number',
} as const;

/** The run as steps to learn from. */
export function View({ id }: { readonly id: string }): JSX.Element {
  const answer = useAnswer<ShownTrajectory>({ path: `runs/${encodeURIComponent(id)}/trajectory`, every: 10_000 });
  if (answer.data === undefined) return <Unanswered answer={answer} />;
  const { steps, nextStep, totalSteps, totalReward, qualityScore, diversityScore, result } = answer.data;
  return (
    <>
      <p class="row wrap">
        <strong>{result === null ? 'goes on' : <Text text={resultText(result)} />}</strong>
        <span>reward {totalReward ?? '–'}</span>
        <span>quality {score(qualityScore)}</span>
        <span>diversity {score(diversityScore)}</span>
        <span class="fill" />
        <a class="button" href={`/api/v1/runs/${encodeURIComponent(id)}/trajectory`} download={`${id}.trajectory.json`}>
          Download as JSON
        </a>
      </p>
      <Table name="Steps" columns={COLUMNS}>
        {steps.map((step) => (
          <tr key={step.step}>
            <td class="number">{step.step}</td>
            <td class="wide">
              <span class="line exact">
                <Text text={actionOf(step).slice(0, 300)} />
              </span>
            </td>
            <td class="wide">
              <span class="line exact">
                <Text text={exactText(step.observation).slice(0, 300)} />
              </span>
            </td>
            <td class="number">{step.reward ?? '–'}</td>
            <td class="number">{step.info.latencyMs === null ? '–' : durationText(step.info.latencyMs)}</td>
            <td class="number">{countText(step.info.usage.totalTokens)}</td>
          </tr>
        ))}
      </Table>
      {nextStep !== null && (
        <p class="note">
          {steps.length} of {totalSteps} steps are shown; the API has the rest.
        </p>
      )}
    </>
  );
}

/** How the run ended, and why where it says so. */
function resultText(result: NonNullable<ShownTrajectory['result']>): string {
  const name = result.type.replace('_', ' ');
  if (result.type === 'success') return name;
  if (result.type === 'partial_success') return `${name}, without ${result.missing.join(', ')}`;
  return `${name}: ${result.reason}`;
}

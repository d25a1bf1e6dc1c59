import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Metrics } from '../../src/metrics/metrics.js';
import { parseExposition } from './exposition.js';

const PROMTOOL = process.env['HOLDFAST_TEST_PROMTOOL'];
const RULES = resolve('deploy/prometheus-rules.yaml');
const WHY_NOT = PROMTOOL === undefined ? ' (HOLDFAST_TEST_PROMTOOL is not set: no promtool)' : '';

describe('alert rules of Prometheus', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-rules-'));
  const metrics = new Metrics();
  afterAll(() => {
    metrics.close();
    rmSync(scratch, { recursive: true, force: true });
  });

  it('name metrics that there are', async () => {
    const families = parseExposition((await metrics.expose()).text).map(({ name }) => name);
    const named = new Set(readFileSync(RULES, 'utf8').match(/\bholdfast_[a-z_]+/g));
    expect([...named].filter((name) => !families.includes(name))).toEqual([]);
    expect(named.size).toBeGreaterThan(0);
  });

  it.skipIf(PROMTOOL === undefined)(`fire when they should${WHY_NOT}`, () => {
    const series = (webhook: string, outcome: string, values: string) =>
      `      - { series: 'holdfast_webhook_events_total{webhook="${webhook}",outcome="${outcome}"}', values: '${values}' }`;
    const file = join(scratch, 'test.yaml');
    const alertOf = (severity: string, texts: string) =>
      `          - exp_labels: { webhook: down, severity: ${severity} }\n            exp_annotations: ${texts}`;
    const rules = execFileSync(PROMTOOL ?? '', ['check', 'rules', RULES], { encoding: 'utf8' });
    expect(rules).toContain('2 rules found');
    const fails = {
      summary: 'The webhook down tells its server nothing.',
      description:
        '`holdfast webhook list` says why, and when it is tried again. Events that fail for a day are given up.',
    };
    const lost = {
      summary: 'Events for the webhook down were given up.',
      description: 'Its server was told nothing for a day. The events are still in `GET /api/v1/events`.',
    };
    const lines = [
      `rule_files: ['${RULES}']`,
      'evaluation_interval: 1m',
      'tests:',
      '  - interval: 1m',
      '    input_series:',
      ...[series('down', 'failed', '0+1x30'), series('down', 'delivered', '5+0x30')],
      ...[series('down', 'given_up', '0+0x20 3+0x10')],
      ...[series('slow', 'failed', '0+1x30'), series('slow', 'delivered', '0+1x30')],
      ...[series('fine', 'failed', '4+0x30'), series('fine', 'delivered', '0+1x30')],
      '    alert_rule_test:',
      '      - eval_time: 3m',
      '        alertname: HoldfastWebhookFails',
      '        exp_alerts: []',
      '      - eval_time: 15m',
      '        alertname: HoldfastWebhookFails',
      '        exp_alerts:',
      alertOf('warning', JSON.stringify(fails)),
      '      - eval_time: 15m',
      '        alertname: HoldfastWebhookEventsLost',
      '        exp_alerts: []',
      '      - eval_time: 25m',
      '        alertname: HoldfastWebhookEventsLost',
      '        exp_alerts:',
      alertOf('critical', JSON.stringify(lost)),
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    const said = execFileSync(PROMTOOL ?? '', ['test', 'rules', file], { encoding: 'utf8' });
    expect(said).toContain('SUCCESS');
  });
});

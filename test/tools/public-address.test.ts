import { describe, expect, it } from 'vitest';
import { isPublicAddress, ownAddresses } from '../../src/tools/http/http-address.js';

describe('addresses of the public internet', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.215.14',
    '172.15.255.255',
    '172.32.0.1',
    '100.128.0.1',
    '2606:4700:4700::1111',
    '2a00:1450:4001::200e',
  ])('%s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
});

describe('addresses that are not', () => {
  it.each([
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['loopback', '::1'],
    ['unspecified', '0.0.0.0'],
    ['unspecified', '0.1.2.3'],
    ['unspecified', '::'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.0.1'],
    ['shared', '100.64.0.1'],
    ['shared', '100.127.255.255'],
    ['link-local', '169.254.0.1'],
    ['metadata', '169.254.169.254'],
    ['metadata', '169.254.170.2'],
    ['metadata', '100.100.100.200'],
    ['metadata', 'fd00:ec2::254'],
    ['metadata', '192.0.0.192'],
    ['platform', '168.63.129.16'],
    ['multicast', '224.0.0.1'],
    ['multicast', '239.255.255.255'],
    ['multicast', 'ff02::1'],
    ['broadcast', '255.255.255.255'],
    ['reserved', '240.0.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['benchmark', '198.18.0.1'],
    ['benchmark', '198.19.255.255'],
    ['benchmark', '2001:2::1'],
    ['relay', '192.88.99.1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fdff::1'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['mapped', '::ffff:127.0.0.1'],
    ['mapped', '::ffff:7f00:1'],
    ['mapped public', '::ffff:8.8.8.8'],
    ['translated', '::ffff:0:127.0.0.1'],
    ['compatible', '::127.0.0.1'],
    ['compatible', '::7f00:1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64', '64:ff9b::8.8.8.8'],
    ['local NAT64', '64:ff9b:1::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['6to4', '2002:808:808::1'],
    ['Teredo', '2001:0:7f00:1::1'],
    ['ISATAP', '2606:4700::5efe:127.0.0.1'],
    ['ISATAP', '2606:4700::200:5efe:7f00:1'],
    ['ORCHID', '2001:10::1'],
    ['ORCHID 2', '2001:20::1'],
    ['discard', '100::1'],
    ['segment routing', '5f00::1'],
    ['outside the global range', '4000::1'],
    ['outside the global range', '1::1'],
    ['a zone', 'fe80::1%eth0'],
    ['a short form', '127.1'],
    ['a number', '2130706433'],
    ['octal', '0177.0.0.1'],
    ['hexadecimal', '0x7f.0.0.1'],
    ['a name', 'example.com'],
    ['nothing', ''],
  ])('%s: %s', (_kind, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
});

describe('addresses of this machine', () => {
  it.each([
    ['1.1.1.1', ['1.1.1.1']],
    ['2606:4700:4700::1111', ['fe80::1', '2606:4700:4700:0:0:0:0:1111']],
    ['2606:4700:4700:0::1111', ['2606:4700:4700::1111']],
  ])('%s is none of the public internet where it is one of them', (address, own) => {
    expect(isPublicAddress(address, own)).toBe(false);
    expect(isPublicAddress(address, ['9.9.9.9'])).toBe(true);
  });

  it('are those of its network interfaces', () => {
    expect(ownAddresses()).toContain('127.0.0.1');
  });
});

import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createAddressGuard, isPublicAddress } from '../../../../src/core/tools/fetch/address-guard.js';

describe('a public address', () => {
  it.each([
    '1.1.1.1',
    '93.184.215.14',
    '172.32.0.1',
    '192.167.1.1',
    '100.63.0.1',
    '2606:4700:4700::1111',
    '2a00:1450::1',
  ])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  it.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.0.0.1'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['private', '192.168.1.1'],
    ['shared by carriers', '100.64.0.1'],
    ['metadata of a cloud', '100.100.100.200'],
    ['metadata of a cloud', '169.254.169.254'],
    ['metadata of a cloud', 'fd00:ec2::254'],
    ['the platform of a cloud', '168.63.129.16'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['link-local', '169.254.0.1'],
    ['reserved', '192.0.0.192'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['benchmarks', '198.18.0.1'],
    ['6to4 relay', '192.88.99.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4 mapped', '::ffff:127.0.0.1'],
    ['IPv4 mapped, even a public one', '::ffff:1.1.1.1'],
    ['IPv4 compatible', '::127.0.0.1'],
    ['IPv4 translated', '::ffff:0:127.0.0.1'],
    ['NAT64', '64:ff9b::7f00:1'],
    ['NAT64 of a network', '64:ff9b:1::7f00:1'],
    ['6to4', '2002:7f00:1::'],
    ['Teredo', '2001:0:7f00:1::'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['unique local', 'fc00::1'],
    ['unique local', 'fdff::1'],
    ['link-local', 'fe80::1'],
    ['link-local with a zone', 'fe80::1%eth0'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['discard', '100::1'],
    ['not given out', '4000::1'],
    ['segment routing', '5f00::1'],
    ['nothing', ''],
    ['a name', 'localhost'],
  ])('is not %s: %s', (_, address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  it('is not one of this machine, whatever its number', () => {
    const own = Object.values(networkInterfaces()).flatMap((all) => all?.map(({ address }) => address) ?? []);
    expect(own).not.toEqual([]);
    for (const address of own) expect(isPublicAddress(address)).toBe(false);
  });
});

describe('the guard', () => {
  const guard = createAddressGuard({ lookup: async () => [{ address: '1.1.1.1', family: 4 }] });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.1/',
    'http://127.0.0.1./',
    'http://%31%32%37.0.0.1/',
    'http://１２７.0.0.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[0:0:0:0:0:ffff:7f00:1]/',
    'http://169.254.169.254/latest/meta-data/',
    'http://0/',
  ])('refuses %s', async (url) => {
    await expect(guard.addressesOf(new URL(url))).rejects.toMatchObject({ code: 'web_fetch_refused' });
  });

  it.each([
    ['ftp://example.com/', /ftp:/],
    ['file:///etc/passwd', /file:/],
    ['data:text/plain,x', /data:/],
    ['http://user@example.com/', /user name/],
    ['http://:pw@example.com/', /password/],
    ['http://example.com:22/', /port 22/],
    ['http://example.com:25/', /port 25/],
    ['http://example.com:6667/', /port 6667/],
  ])('refuses %s with the reason', async (url, reason) => {
    await expect(guard.addressesOf(new URL(url))).rejects.toMatchObject({
      code: 'web_fetch_refused',
      message: expect.stringMatching(reason),
    });
  });

  it.each(['http://example.com/', 'https://example.com/', 'http://example.com:8080/', 'http://example.com:443/'])(
    'lets %s pass',
    async (url) => {
      expect(await guard.addressesOf(new URL(url))).toEqual([{ address: '1.1.1.1', family: 4 }]);
    },
  );

  it('hands on only the public ones of several addresses', async () => {
    const mixed = createAddressGuard({
      lookup: async () => [
        { address: '10.0.0.1', family: 4 },
        { address: '1.1.1.1', family: 4 },
        { address: '64:ff9b::101:101', family: 6 },
      ],
    });
    expect(await mixed.addressesOf(new URL('http://example.com'))).toEqual([{ address: '1.1.1.1', family: 4 }]);
  });

  it('does not tell which address a name has inside', async () => {
    const inside = createAddressGuard({ lookup: async () => [{ address: '10.20.30.40', family: 4 }] });
    await expect(inside.addressesOf(new URL('http://intranet/'))).rejects.toMatchObject({
      code: 'web_fetch_refused',
      message: expect.not.stringContaining('10.20.30.40'),
    });
  });

  it('refuses localhost by what the system says it is', async () => {
    await expect(createAddressGuard().addressesOf(new URL('http://localhost/'))).rejects.toMatchObject({
      code: 'web_fetch_refused',
    });
  });

  it('says that a host does not exist', async () => {
    const lost = createAddressGuard({ lookup: async () => Promise.reject(new Error('ENOTFOUND')) });
    await expect(lost.addressesOf(new URL('http://nowhere.test/'))).rejects.toMatchObject({
      code: 'web_fetch_failed',
      message: expect.stringContaining('nowhere.test'),
    });
    const empty = createAddressGuard({ lookup: async () => [] });
    await expect(empty.addressesOf(new URL('http://empty.test/'))).rejects.toMatchObject({ code: 'web_fetch_refused' });
  });
});

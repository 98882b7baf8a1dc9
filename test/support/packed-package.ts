import { execFile } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const project = path.resolve(import.meta.dirname, '../..')

/**
 * Builds the package, packs it as `npm publish` would and unpacks it into `folder/node_modules`, with
 * its dependencies beside it: an empty project that has just installed it. Leaves the checkout alone.
 * @returns the folder of the installed package.
 */
export async function installPacked(folder: string): Promise<string> {
  const staging = path.join(folder, 'staging')
  fs.mkdirSync(staging)
  for (const name of ['package.json', 'README.md', 'LICENSE', 'docs']) {
    const from = path.join(project, name)
    if (fs.existsSync(from)) fs.cpSync(from, path.join(staging, name), { recursive: true })
  }
  await run(process.execPath, [
    path.join(project, 'node_modules/typescript/bin/tsc'),
    '-p',
    path.join(project, 'tsconfig.json'),
    '--outDir',
    path.join(staging, 'dist'),
  ])
  await run('npm', ['pack', '--ignore-scripts', '--pack-destination', folder], { cwd: staging })
  const tarball = fs.readdirSync(folder).find((name) => name.endsWith('.tgz'))
  if (!tarball) throw new Error('npm pack made no tarball')
  const modules = path.join(folder, 'node_modules')
  const installed = path.join(modules, 'hermes-session-store')
  fs.mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', path.join(folder, tarball), '--strip-components=1', '-C', installed])
  for (const name of [
    ...dependencies(installed),
    'is-network-error',
    '@types/node',
    'undici-types',
  ]) {
    const target = path.join(modules, name)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.symlinkSync(path.join(project, 'node_modules', name), target)
  }
  fs.writeFileSync(path.join(folder, 'package.json'), '{ "type": "module", "private": true }')
  return installed
}

function dependencies(installed: string): string[] {
  const manifest = JSON.parse(fs.readFileSync(path.join(installed, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  return Object.keys(manifest.dependencies)
}

import type { Command } from 'commander'

import { limit } from '../arguments.ts'
import type { Cli } from '../cli.ts'
import { table } from '../table.ts'
import { oneLine } from '../text.ts'

export function addUsage(program: Command, cli: Cli): void {
  void [program, limit, cli, table, oneLine]
}

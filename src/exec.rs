//! Running commands: may it run, confined how; start, stop, bounded output.

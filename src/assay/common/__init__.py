"""What every package uses: addresses, output, tables, numbers and messages as data, downloads, databases, processes."""

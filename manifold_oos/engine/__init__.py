"""What is run: from a plan over splits, fits and arms to rows in the store."""

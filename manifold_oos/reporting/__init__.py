"""What is shown: tables, figures, pages and the HTML report."""

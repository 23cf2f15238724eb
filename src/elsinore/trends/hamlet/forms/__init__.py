"""Extended-range numbers and rows of them: linear forms, and the index that adds them up."""

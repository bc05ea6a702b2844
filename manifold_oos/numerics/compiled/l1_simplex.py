"""The compiled part of :mod:`manifold_oos.numerics.basis_pursuit`: imported on first use, as numba takes its time.

A basis has a variable (a coefficient a_j, number j, or an error e_i, number N + i) at each of D places. All
variables are free with cost |x|, so every basis is feasible. With S the basic coefficients and R the rows of the
non-basic errors, A[R, S] is square and non-singular. A tableau holds B⁻¹ times the columns of non-basic variables,
one per row: first those of the errors R, then those of the few coefficients C that may enter.
"""

import numpy as np
from numba import njit

from manifold_oos.arrays import Array, Index

#: Coefficients that may enter between two looks at all of them, and pivots between the two.
CANDIDATES, PIVOTS = 24, 16
#: Right-hand sides whose coefficients are looked at together, and floats in all their tableaux at most.
BLOCK, FLOATS = 64, 2**22
#: Pivots after which a tableau is made anew.
OLD = 200
#: How much a reduced cost may exceed 1 in single precision, where the search starts, and in double, where it ends.
ROUGH, OPTIMAL = 1e-4, 1e-9
# Sums may be reordered for vector instructions; the same machine code gives the same results.
compiled = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})


def solve(atoms: Array, B: Array, noise: Array, skip: Index, max_rounds: int) -> tuple[Array, Array]:
    """Codes and dual-feasible points of the rows of B, whose largest entries are 1; NaN where the method failed."""
    (m, D), N = B.shape, len(atoms)
    a, v = np.empty((m, N)), np.empty((m, D))
    rough = atoms.astype(np.float32)
    rows = min(N, D) + CANDIDATES
    step = max(1, min(m, BLOCK, FLOATS // (rows * D)))
    T, T_rough = np.empty((step, rows, D)), np.empty((step, rows, D), dtype=np.float32)
    for start in range(0, m, step):
        block = slice(start, start + step)
        b, b_skip = B[block], skip[block]
        basic, k = np.tile(N + np.arange(D), (len(b), 1)), np.zeros(len(b), dtype=np.int64)
        nonbasic = np.empty((len(b), rows), dtype=np.int64)
        b_rough = (b + 1e-6 * noise).astype(np.float32)
        simplex(T_rough, rough, b_rough, b_skip, basic, nonbasic, k, ROUGH, max_rounds)
        dual, size = simplex(T, atoms, b + 1e-9 * noise, b_skip, basic, nonbasic, k, OPTIMAL, max_rounds)
        size[np.isinf(size)] = np.nan
        a[block], v[block] = codes(T, b, basic, nonbasic, k, N), dual / np.maximum(size, 1)[:, None]
    return a, v


@compiled
def simplex(
    T: Array,
    atoms: Array,
    B: Array,
    skip: Index,
    basic: Index,
    nonbasic: Index,
    k: Index,
    optimal: float,
    max_rounds: int,
) -> tuple[Array, Array]:
    """Improve the bases of all rows of B (the k first of ``nonbasic`` count) and fill their tableaux T.

    Gives the dual points v and max(‖v‖∞, ‖Aᵀv‖∞), infinite where the method failed. In single precision it ends
    without making the last tableau anew: the double precision that follows does so.
    """
    (m, D), N = B.shape, len(atoms)
    x, s, v = np.empty_like(B), np.ones_like(B), np.empty_like(B)
    size, exact = np.full(m, np.inf), optimal <= OPTIMAL
    age, active = np.zeros(m, np.int64), np.arange(m)
    C, score = np.empty(CANDIDATES, np.int64), np.empty(CANDIDATES, atoms.dtype)
    for r in range(m):
        if not refresh(T[r], x[r], s[r], v[r], atoms, B[r], basic[r], nonbasic[r], k[r], optimal):
            k[r] = 0
            refresh(T[r], x[r], s[r], v[r], atoms, B[r], basic[r], nonbasic[r], 0, optimal)
    for _ in range(max_rounds):
        d = np.dot(v[active], atoms.T)
        left = 0
        for row in range(len(active)):
            r = active[row]
            n, largest = k[r], v.dtype.type(0)
            for i in range(D):
                largest = max(largest, abs(v[r, i]))
                if basic[r, i] < N:
                    d[row, basic[r, i]] = 0
            if skip[r] >= 0:
                d[row, skip[r]] = 0
            c = candidates(C, score, d[row], optimal)
            if c or largest > 1 + optimal:
                expand(T[r], atoms, C[:c], basic[r], nonbasic[r], n)
                pivots = pivot(T[r, : n + c], x[r], s[r], v[r], basic[r], nonbasic[r], N, optimal)
                k[r] = compress(T[r, : n + c], nonbasic[r], N)
                age[r] += pivots
                again = pivots == 0 or age[r] >= OLD
            elif age[r] and exact:
                again = True
            else:
                for j in range(N):
                    largest = max(largest, abs(d[row, j]))
                size[r] = largest
                continue
            if again:
                age[r] = 0
                if not refresh(T[r], x[r], s[r], v[r], atoms, B[r], basic[r], nonbasic[r], k[r], optimal):
                    continue
            active[left] = r
            left += 1
        active = active[:left]
        if left == 0:
            break
    return v, size


@compiled
def codes(T: Array, B: Array, basic: Index, nonbasic: Index, k: Index, N: int) -> Array:
    """a_S = A[R, S]⁻¹ b_R for every row b of B."""
    a = np.zeros((len(B), N))
    for r in range(len(B)):
        for i in range(B.shape[1]):
            if basic[r, i] < N:
                for h in range(k[r]):
                    a[r, basic[r, i]] += T[r, h, i] * B[r, nonbasic[r, h] - N]
    return a


@compiled
def refresh(
    T: Array,
    x: Array,
    s: Array,
    v: Array,
    atoms: Array,
    b: Array,
    basic: Index,
    nonbasic: Index,
    n: int,
    optimal: float,
) -> bool:
    """Compute all that belongs to a basis of n coefficients from the data; False if it is singular."""
    N, D = atoms.shape
    S, sign = np.empty(n, np.int64), np.empty(N + D, s.dtype)
    W, A_S, minus_a = np.empty((n, n), s.dtype), np.empty((n, D), s.dtype), np.zeros_like(b[:n])
    h = 0
    for i in range(D):
        sign[basic[i]] = s[i]
        if basic[i] < N and h < n:
            S[h] = basic[i]
            h += 1
        basic[i], x[i] = N + i, b[i]
    for h in range(n):
        for i in range(D):
            A_S[h, i] = atoms[S[h], i]
        for i in range(n):
            W[h, i] = A_S[h, nonbasic[i] - N]
    if not invert(W, 1e-3 * optimal):
        return False
    # B⁻¹1_i, i in R: a column of A[R, S]⁻¹ at the places of the coefficients, of −A_S A[R, S]⁻¹ elsewhere.
    for h in range(n):
        for i in range(n):
            minus_a[i] -= b[nonbasic[h] - N] * W[h, i]
    if n:
        np.dot(W, A_S, T[:n])
    for h in range(n):
        for i in range(D):
            T[h, i] = -T[h, i]
            x[i] += minus_a[h] * A_S[h, i]
    for h in range(n):
        # The place of e_i, i in R, is taken by a coefficient.
        place = nonbasic[h] - N
        basic[place], x[place] = S[h], -minus_a[h]
        for i in range(n):
            T[i, place] = W[i, h]
    for i in range(D):
        # Where x is zero, a sign that changes with the rounding could go round in circles.
        s[i] = sign[basic[i]] if abs(x[i]) < 1e-4 * optimal else -1 if x[i] < 0 else 1
        v[i] = s[i]
    for h in range(n):
        v[nonbasic[h] - N], _ = price(T[h], s)
    return True


@compiled
def invert(M: Array, zero: float) -> bool:
    """Gauss–Jordan with row exchanges in place; False if a pivot is zero relative to the largest entry."""
    n = len(M)
    order, scale = np.arange(n), M.dtype.type(0)
    for i in range(n):
        for j in range(n):
            scale = max(scale, abs(M[i, j]))
    for c in range(n):
        p = c
        for i in range(c + 1, n):
            if abs(M[i, c]) > abs(M[p, c]):
                p = i
        if not abs(M[p, c]) > zero * scale:
            return False
        order[c], order[p] = order[p], order[c]
        for j in range(n):
            M[c, j], M[p, j] = M[p, j], M[c, j]
        f = 1 / M[c, c]
        M[c, c] = 1
        for j in range(n):
            M[c, j] *= f
        for i in range(n):
            if i != c:
                f = M[i, c]
                M[i, c] = 0
                for j in range(n):
                    M[i, j] -= f * M[c, j]
    row = np.empty(n, M.dtype)
    for i in range(n):
        for j in range(n):
            row[order[j]] = M[i, j]
        for j in range(n):
            M[i, j] = row[j]
    return True


@compiled
def candidates(C: Index, score: Array, d: Array, optimal: float) -> int:
    """Fill C with the coefficients of the largest |d| > 1, largest first, and say how many there are."""
    c, limit = 0, d.dtype.type(1 + optimal)
    for j in range(len(d)):
        g = abs(d[j])
        if g <= limit:
            continue
        if c < len(C):
            c += 1
        i = c - 1
        while i > 0 and score[i - 1] < g:
            score[i], C[i] = score[i - 1], C[i - 1]
            i -= 1
        score[i], C[i] = g, j
        if c == len(C):
            limit = score[c - 1]
    return c


@compiled
def expand(T: Array, atoms: Array, C: Index, basic: Index, nonbasic: Index, n: int) -> None:
    """Append B⁻¹a_j, j in C, to a tableau of n rows: Σ_i a_ij B⁻¹1_i, a unit vector where e_i is basic."""
    N, D = atoms.shape
    A_CR, new = np.empty((len(C), n), atoms.dtype), T[n : n + len(C)]
    for h in range(len(C)):
        nonbasic[n + h] = C[h]
        for i in range(n):
            A_CR[h, i] = atoms[C[h], nonbasic[i] - N]
    if n and len(C):
        np.dot(A_CR, T[:n], new)
    else:
        new[:] = 0
    for h in range(len(C)):
        for i in range(D):
            if basic[i] >= N:
                new[h, i] += atoms[C[h], basic[i] - N]


@compiled
def compress(T: Array, nonbasic: Index, N: int) -> int:
    """Keep the rows of errors and say how many there are."""
    n = 0
    for h in range(len(T)):
        if nonbasic[h] >= N:
            if n < h:
                T[n], nonbasic[n] = T[h], nonbasic[h]
            n += 1
    return n


@compiled
def pivot(T: Array, x: Array, s: Array, v: Array, basic: Index, nonbasic: Index, N: int, optimal: float) -> int:
    """Pivot until no variable of the tableau improves the objective, or enough; the number of pivots."""
    n, D = T.shape
    zero, one = T.dtype.type(0), T.dtype.type(1)
    d, size = np.empty_like(T[:, 0]), np.empty_like(T[:, 0])
    row, column = np.empty_like(d), np.empty_like(x)
    q, t, ahead = np.empty_like(x), np.empty_like(x), np.empty(D, np.int64)
    for j in range(n):
        d[j], size[j] = price(T[j], s)
    limit = T.dtype.type(0.1 * optimal)
    pivots = 0
    while pivots < PIVOTS:
        # The improvement |d| − 1 per length of the edge in the L1 norm.
        j, best = -1, zero
        for h in range(n):
            g = abs(d[h]) - one
            if g > optimal and g > best * (one + size[h]):
                j, best = h, g / (one + size[h])
        if j < 0:
            break
        sign = one if d[j] > 0 else -one
        column[:] = T[j]
        last = 0
        for i in range(D):
            q[last], ahead[last] = sign * s[i] * column[i], i
            t[last] = abs(x[i]) / q[last]
            last += q[last] > limit
        if last == 0:
            break
        # Past a break point the slope 1 − |d| grows by 2q_i: go on until it is no longer negative.
        last = break_point(t[:last], q[:last], ahead[:last], (abs(d[j]) - one) * T.dtype.type(0.5))
        L, step = ahead[last], sign * t[last]
        for i in range(last):
            s[ahead[i]] = -s[ahead[i]]
        for i in range(D):
            x[i] -= step * column[i]
        x[L], s[L] = step, sign
        inverse = one / column[L]
        # Gauss–Jordan: row j becomes −column/column_L but for 1/column_L at L, others lose a multiple of it.
        for h in range(n):
            row[h], T[h, L] = T[h, L] * inverse, zero
        column[L] = -one
        for h in range(n):
            f, total, length = row[h], zero, zero
            for i in range(D):
                new = T[h, i] - f * column[i]
                T[h, i] = new
                total += s[i] * new
                length += abs(new)
            d[h], size[h] = total, length
        for i in range(D):
            T[j, i] = -inverse * column[i]
        d[j], size[j] = price(T[j], s)
        basic[L], nonbasic[j] = nonbasic[j], basic[L]
        pivots += 1
    for i in range(D):
        if basic[i] >= N:
            v[basic[i] - N] = s[i]
    for h in range(n):
        if nonbasic[h] >= N:
            v[nonbasic[h] - N] = d[h]
    return pivots


@compiled
def price(row: Array, s: Array) -> tuple[np.floating, np.floating]:
    """The reduced cost sᵀB⁻¹a of a variable and the length of its edge."""
    total, length = row.dtype.type(0), row.dtype.type(0)
    for i in range(len(row)):
        total += s[i] * row[i]
        length += abs(row[i])
    return total, length


@compiled
def break_point(t: Array, q: Array, ahead: Index, enough: float) -> int:
    """Order break points: those before the returned place have no larger t, with it q adds up to enough."""
    before = 0
    while True:
        n = len(t)
        if t[n // 2] < t[n - 1]:  # it is more often among the small ones
            swap(t, q, ahead, n // 2, n - 1)
        i, middle, total = 0, t[n - 1], t.dtype.type(0)
        for j in range(n - 1):
            # No branch: half of them would be predicted wrong.
            smaller = t[j] < middle
            swap(t, q, ahead, i, j)
            total += q[i] * smaller
            i += smaller
        swap(t, q, ahead, i, n - 1)
        if total >= enough:
            t, q, ahead = t[:i], q[:i], ahead[:i]
        elif total + q[i] >= enough or i == n - 1:
            return before + i
        else:
            enough -= total + q[i]
            before += i + 1
            t, q, ahead = t[i + 1 :], q[i + 1 :], ahead[i + 1 :]


@compiled
def swap(t: Array, q: Array, ahead: Index, i: int, j: int) -> None:
    """Exchange two break points."""
    t[i], t[j] = t[j], t[i]
    q[i], q[j] = q[j], q[i]
    ahead[i], ahead[j] = ahead[j], ahead[i]

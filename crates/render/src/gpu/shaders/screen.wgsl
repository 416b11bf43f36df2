// From light, which has no upper bound, to what a screen can show. Prepended to every shader.

// Bright colours bend towards white instead of losing their hue; dark and middle ones stay as they are.
fn screened(light: vec3f) -> vec3f {
    let shoulder = 0.7;
    let peak = max(light.r, max(light.g, light.b));
    if peak <= shoulder {
        return light;
    }
    let room = 1.0 - shoulder;
    let bent = 1.0 - room * room / (peak - shoulder + room);
    let scaled = light * (bent / peak);
    let washed = 1.0 - 1.0 / (0.14 * (peak - bent) + 1.0);
    return mix(scaled, vec3f(bent), washed);
}

// As on a screen. Three roots stand for the power 1 / 2.4: within a step of 255, and much quicker on a processor.
fn encoded(light: vec3f) -> vec3f {
    let once = sqrt(clamp(light, vec3f(0.0), vec3f(1.0)));
    let twice = sqrt(once);
    let curve = 0.585122381 * once + 0.783140355 * twice - 0.368262736 * sqrt(twice);
    return select(curve, light * 12.92, light <= vec3f(0.0031308));
}

// An even scatter of numbers, 0..1, over neighbouring pixels.
fn scatter(pixel: vec2f) -> f32 {
    return fract(52.9829189 * fract(dot(floor(pixel), vec2f(0.06711056, 0.00583715))));
}

// Noise that hides the steps of a screen: up to half of one, less or more.
fn grain(pixel: vec2f) -> f32 {
    return (scatter(pixel) - 0.5) / 255.0;
}
